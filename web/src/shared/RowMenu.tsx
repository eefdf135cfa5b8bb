import { ActionIcon, Menu } from '@mantine/core';
import { IconDots, type IconKey } from '@tabler/icons-react';
import { Fragment, type ReactNode, useRef, useState } from 'react';
import classes from './RowMenu.module.css';
import { focusLater } from './Window';

export interface MenuAct {
  title: string;
  icon: typeof IconKey;
  /** What it opens; it is closed by the function. */
  open?: (close: () => void) => ReactNode;
  run?: () => void;
  danger?: boolean;
}

/** What can be done with a row. */
export function RowMenu({ of, acts }: { of: string; acts: MenuAct[] }) {
  const [opened, setOpened] = useState<MenuAct['open']>();
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpened(undefined);
    focusLater(button.current); // the item of the menu that had the focus is gone
  };
  return (
    <>
      <Menu position="bottom-end" width={200}>
        <Menu.Target>
          <ActionIcon ref={button} variant="subtle" color="gray" aria-label={`More for ${of}`}>
            <IconDots size={18} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {acts.map(({ title, icon: Icon, open, run, danger }) => (
            <Fragment key={title}>
              {danger && <Menu.Divider />}
              <Menu.Item
                leftSection={<Icon size={16} />}
                className={danger ? classes.danger : undefined}
                onClick={() => (run ? run() : setOpened(() => open))}
              >
                {title}
              </Menu.Item>
            </Fragment>
          ))}
        </Menu.Dropdown>
      </Menu>
      {opened?.(close)}
    </>
  );
}
