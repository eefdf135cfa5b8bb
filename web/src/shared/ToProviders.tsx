import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';

/** The next step where there is no provider yet. */
export function ToProviders() {
  return (
    <Button component={Link} to="/providers">
      Go to Providers
    </Button>
  );
}
