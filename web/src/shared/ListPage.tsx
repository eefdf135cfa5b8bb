import { Button, TextInput } from '@mantine/core';
import { IconPlus, IconSearch } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { type Column, DataTable } from './DataTable';
import classes from './ListPage.module.css';
import { Page, Toolbar } from './Page';
import { Empty, Loaded } from './State';

interface Props<Row> {
  title: string;
  about: ReactNode;
  query: UseQueryResult<Row[]>;
  columns: Column<Row>[];
  id: (row: Row) => string;
  /** What searching looks in. */
  words: (row: Row) => string;
  faint?: (row: Row) => boolean;
  /** Which of the rows are there at all, beside those searched for. */
  keep?: (row: Row) => boolean;
  /** What the page is for, where there is nothing yet. */
  empty: { icon: ReactNode; title: string; words: ReactNode };
  create?: { act: string; form: (close: () => void) => ReactNode };
  /** Beside the button that creates. */
  actions?: ReactNode;
  /** Beside the search. */
  tools?: ReactNode;
  /** Between the heading and the list. */
  children?: ReactNode;
}

/** A page that lists one kind of thing, and makes more of it. */
export function ListPage<Row>({ title, about, query, create, actions, children, ...list }: Props<Row>) {
  const [creating, setCreating] = useState(false);
  const button = create && (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setCreating(true)}>
      {create.act}
    </Button>
  );
  return (
    <Page
      title={title}
      about={about}
      actions={
        <>
          {actions}
          {button}
        </>
      }
    >
      {children}
      <Loaded query={query}>
        {(all) => {
          const rows = list.keep ? all.filter(list.keep) : all;
          return rows.length === 0 && !list.tools ? (
            <Empty icon={list.empty.icon} title={list.empty.title} action={button}>
              {list.empty.words}
            </Empty>
          ) : (
            <Listing title={title} rows={rows} {...list} />
          );
        }}
      </Loaded>
      {creating && create?.form(() => setCreating(false))}
    </Page>
  );
}

type ListingProps<Row> = Omit<Props<Row>, 'about' | 'query' | 'create' | 'actions' | 'children'> & { rows: readonly Row[] };

function Listing<Row>({ title, rows, words, tools, empty, ...table }: ListingProps<Row>) {
  const [q, setQ] = useState('');
  const wanted = q.trim().toLowerCase();
  const shown = rows.filter((row) => !wanted || words(row).toLowerCase().includes(wanted));
  return (
    <>
      <Toolbar>
        <TextInput
          className={classes.search}
          leftSection={<IconSearch size={16} />}
          placeholder="Search"
          aria-label={`Search ${title}`}
          value={q}
          onChange={(e) => setQ(e.currentTarget.value)}
        />
        {tools}
        <span className={classes.total} role="status">
          {shown.length === rows.length ? rows.length : `${shown.length} of ${rows.length}`}
        </span>
      </Toolbar>
      <DataTable
        {...table}
        label={title}
        rows={shown}
        empty={
          wanted ? (
            <Empty icon={<IconSearch size={22} />} title="Nothing matches">
              Look for something else.
            </Empty>
          ) : (
            <Empty icon={empty.icon} title={empty.title}>
              {empty.words}
            </Empty>
          )
        }
      />
    </>
  );
}
