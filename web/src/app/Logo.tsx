import classes from './Shell.module.css';

export function Logo() {
  return (
    <span className={classes.logo}>
      <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden>
        <title>Spillway</title>
        <rect width="32" height="32" rx="8" fill="#0b6b86" />
        <path d="M6 12c3.5-3 6.5-3 10 0s6.5 3 10 0" fill="none" stroke="#fff" strokeWidth="2.8" strokeLinecap="round" />
        <path d="M6 20c3.5-3 6.5-3 10 0s6.5 3 10 0" fill="none" stroke="#7fd6e8" strokeWidth="2.8" strokeLinecap="round" />
      </svg>
      Spillway
    </span>
  );
}
