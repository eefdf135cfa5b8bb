import type { ReactNode } from 'react';
import classes from './Boxed.module.css';

/** Fields that belong together, in a box with a name. `className` lays them out. */
export function Boxed({ title, className, children }: { title: string; className?: string; children: ReactNode }) {
  return (
    <fieldset className={className ? `${classes.box} ${className}` : classes.box}>
      <legend className={classes.legend}>{title}</legend>
      {children}
    </fieldset>
  );
}
