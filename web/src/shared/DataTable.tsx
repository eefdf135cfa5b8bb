import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { type CSSProperties, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import classes from './DataTable.module.css';

export interface Column<Row> {
  /** What the column is called; empty for one of buttons. */
  title: string;
  cell: (row: Row) => ReactNode;
  /** A grid track. Default: 1fr. */
  width?: string;
  /** Has no place on a small screen. */
  wide?: boolean;
  end?: boolean;
}

interface Props<Row> {
  label: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
  id: (row: Row) => string;
  /** In place of the rows when there are none. */
  empty: ReactNode;
  /** Rows that are there and do not count: shown fainter. */
  faint?: (row: Row) => boolean;
}

const fewRows = 80; // as many are rendered whole: find in page works

/** A listing. On a small screen each row is a card; a long one renders only what is in sight. */
export function DataTable<Row>({ label, rows, columns, id, empty, faint }: Props<Row>) {
  if (rows.length === 0) {
    return <>{empty}</>;
  }
  const tracks = columns.map((c) => c.width ?? 'minmax(0, 1fr)').join(' ');
  const tracksMiddle = columns
    .filter((c) => !c.wide)
    .map((c) => c.width ?? 'minmax(0, 1fr)')
    .join(' ');
  return (
    <div
      role="table"
      aria-label={label}
      aria-rowcount={rows.length + 1}
      className={classes.table}
      style={{ '--tracks': tracks, '--tracks-middle': tracksMiddle } as CSSProperties}
    >
      <div role="rowgroup">
        <div role="row" className={classes.head}>
          {columns.map((c) => (
            <div key={c.title} role="columnheader" className={classes.cell} data-end={c.end} data-wide={c.wide}>
              {c.title || <span className={classes.hidden}>Actions</span>}
            </div>
          ))}
        </div>
      </div>
      <Rows count={rows.length}>
        {(index, ref) => {
          const row = rows[index] as Row;
          return (
            <div
              key={id(row)}
              role="row"
              aria-rowindex={index + 2}
              data-index={index}
              ref={ref}
              className={classes.row}
              data-faint={faint?.(row) || undefined}
            >
              {columns.map((c) => (
                <div key={c.title} role="cell" className={classes.cell} data-title={c.title} data-end={c.end} data-wide={c.wide}>
                  <div className={classes.value}>{c.cell(row)}</div>
                </div>
              ))}
            </div>
          );
        }}
      </Rows>
    </div>
  );
}

interface RowsProps {
  count: number;
  children: (index: number, ref?: (node: Element | null) => void) => ReactNode;
  /** The height that a row has until it is measured, in pixels. */
  estimate?: number;
  role?: 'rowgroup' | 'list';
  label?: string;
}

/** Rows of any height; of many only those in sight. */
export function Rows({ count, children, role = 'rowgroup', ...rest }: RowsProps) {
  if (count > fewRows) {
    return (
      <LongRows count={count} role={role} {...rest}>
        {children}
      </LongRows>
    );
  }
  return (
    <div role={role} aria-label={rest.label}>
      {Array.from({ length: count }, (_, i) => children(i))}
    </div>
  );
}

function LongRows({ count, children, estimate = 49, role, label }: RowsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    setTop(box.current ? box.current.getBoundingClientRect().top + window.scrollY : 0);
  }, []);
  const rows = useWindowVirtualizer({ count, estimateSize: () => estimate, overscan: 12, scrollMargin: top });
  const shown = rows.getVirtualItems();
  return (
    <div ref={box} role={role} aria-label={label} style={{ height: rows.getTotalSize(), position: 'relative' }}>
      <div
        style={{
          position: 'absolute',
          top: 0,
          left: 0,
          right: 0,
          transform: `translateY(${(shown[0]?.start ?? top) - top}px)`,
        }}
      >
        {shown.map((item) => children(item.index, rows.measureElement))}
      </div>
    </div>
  );
}
