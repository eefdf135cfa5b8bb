import { Button } from '@mantine/core';
import { IconMapQuestion } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Page } from '../shared/Page';
import { Empty } from '../shared/State';

export function NotFound() {
  return (
    <Page title="Not found">
      <Empty
        icon={<IconMapQuestion size={22} />}
        title="There is no such page"
        action={
          <Button component={Link} to="/" variant="default">
            Go to the start
          </Button>
        }
      >
        The address may be mistyped, or what it showed is gone.
      </Empty>
    </Page>
  );
}
