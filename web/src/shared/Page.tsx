import { Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import classes from './Page.module.css';

interface Props {
  title: string;
  /** One sentence: what this page is for. */
  about?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A page: its heading, what can be done on it, and what is on it. */
export function Page({ title, about, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · Spillway`;
  }, [title]);
  return (
    <div className={classes.page}>
      <header className={classes.head}>
        <div className={classes.words}>
          <Title order={1} className={classes.title}>
            {title}
          </Title>
          {about && <p className={classes.about}>{about}</p>}
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </header>
      {children}
    </div>
  );
}

export function Toolbar({ children }: { children: ReactNode }) {
  return <div className={classes.toolbar}>{children}</div>;
}

/** A box with a heading. */
export function Section({ title, about, actions, children }: Props) {
  return (
    <section className={classes.section} aria-label={title}>
      <header className={classes.sectionHead}>
        <div>
          <Title order={2} className={classes.sectionTitle}>
            {title}
          </Title>
          {about && <p className={classes.about}>{about}</p>}
        </div>
        {actions && <div className={classes.actions}>{actions}</div>}
      </header>
      {children}
    </section>
  );
}
