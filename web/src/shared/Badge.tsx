import { Tooltip } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './Badge.module.css';

export type Tone = 'ok' | 'warn' | 'bad' | 'note' | 'info';

interface Props {
  tone: Tone;
  children: ReactNode;
  /** What hovering or focusing it tells. */
  tip?: ReactNode;
  icon?: ReactNode;
  /** With it the badge is a button. */
  onClick?: () => void;
  label?: string;
}

export function Badge({ tone, children, tip, icon, onClick, label }: Props) {
  const content = (
    <>
      {icon}
      <span className={classes.text}>{children}</span>
    </>
  );
  if (!tip && !onClick) {
    return (
      <span className={classes.badge} data-tone={tone}>
        {content}
      </span>
    );
  }
  const button = (
    <button
      type="button"
      className={classes.badge}
      data-tone={tone}
      data-act={onClick ? true : undefined}
      onClick={onClick}
      aria-label={label}
    >
      {content}
    </button>
  );
  return tip ? (
    <Tooltip label={tip} maw={320} fz="xs">
      {button}
    </Tooltip>
  ) : (
    button
  );
}

/** A small dot before a word: a state that is worth no badge. */
export function Dot({ tone, children }: { tone: Tone; children: ReactNode }) {
  return (
    <span className={classes.dotted}>
      <span className={classes.dot} data-tone={tone} aria-hidden />
      {children}
    </span>
  );
}
