import { ActionIcon, CopyButton, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import classes from './Copy.module.css';

export function Copy({ value, what }: { value: string; what: string }) {
  return (
    <CopyButton value={value} timeout={2000}>
      {({ copied, copy }) => (
        <Tooltip label={copied ? 'Copied' : `Copy ${what}`} fz="xs">
          <ActionIcon variant="subtle" color="gray" size="sm" onClick={copy} aria-label={copied ? `Copied ${what}` : `Copy ${what}`}>
            {copied ? <IconCheck size={15} /> : <IconCopy size={15} />}
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}

/** A value in one line, to take away. */
export function CopyLine({ value, what }: { value: string; what: string }) {
  return (
    <div className={classes.line}>
      <code className={classes.code}>{value}</code>
      <Copy value={value} what={what} />
    </div>
  );
}

/** Lines to paste. */
export function CopyBlock({ value, what }: { value: string; what: string }) {
  return (
    <figure className={classes.block} aria-label={what}>
      <div className={classes.corner}>
        <Copy value={value} what={what} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so the keyboard has to get into it */}
      <pre className={classes.pre} tabIndex={0}>
        <code>{value}</code>
      </pre>
    </figure>
  );
}
