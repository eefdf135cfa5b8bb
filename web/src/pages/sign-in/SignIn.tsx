import { Alert, Anchor, Button, PasswordInput, Stack, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, body } from '../../api/client';
import { ApiError, explain } from '../../api/errors';
import { session } from '../../api/queries';
import { inside } from '../../app/inside';
import { Logo } from '../../app/Logo';
import { SchemeButton } from '../../app/Shell';
import classes from './SignIn.module.css';

/** Where somebody signs in with the account that an administrator made. */
export function SignIn() {
  const client = useQueryClient();
  const router = useRouter();
  const { to } = useSearch({ from: '/sign-in' });
  // Accounts of several organizations may have one address; the field is there for whoever needs it.
  const [several, setSeveral] = useState(false);
  const form = useForm({
    initialValues: { email: '', password: '', organization: '' },
    validate: {
      email: (v) => (v.trim() ? null : 'Enter your email address.'),
      password: (v) => (v ? null : 'Enter your password.'),
    },
  });
  const enter = useMutation({
    mutationFn: (v: typeof form.values) =>
      body(
        api.POST('/auth/login', {
          body: {
            email: v.email.trim(),
            password: v.password,
            ...(v.organization.trim() ? { organization: v.organization.trim() } : {}),
          },
        }),
      ),
    onSuccess: async (who) => {
      client.setQueryData(session.queryKey, who);
      await router.invalidate();
      await router.navigate({ href: inside(to) });
    },
    onError: () => form.setFieldValue('password', ''),
  });
  useEffect(() => {
    document.title = 'Sign in · Spillway';
  }, []);
  return (
    <main className={classes.page}>
      <div className={classes.card}>
        <Logo />
        <Title order={1} className={classes.title}>
          Sign in
        </Title>
        <form noValidate onSubmit={form.onSubmit((v) => enter.mutate(v))}>
          <Stack gap="md">
            <TextInput label="Email address" type="email" autoComplete="username" autoFocus size="md" {...form.getInputProps('email')} />
            <PasswordInput label="Password" autoComplete="current-password" size="md" {...form.getInputProps('password')} />
            {several ? (
              <TextInput label="Organization" autoComplete="organization" size="md" {...form.getInputProps('organization')} />
            ) : (
              <Anchor component="button" type="button" size="sm" ta="left" onClick={() => setSeveral(true)}>
                I have accounts in several organizations
              </Anchor>
            )}
            {enter.error && <Refused error={enter.error} />}
            <Button type="submit" size="md" loading={enter.isPending} fullWidth>
              Sign in
            </Button>
          </Stack>
        </form>
        <p className={classes.note}>No account? An administrator of your organization can make one.</p>
      </div>
      <div className={classes.scheme}>
        <SchemeButton />
      </div>
    </main>
  );
}

function Refused({ error }: { error: Error }) {
  const wrong = error instanceof ApiError && error.status === 401;
  const { title, advice } = wrong
    ? {
        title: 'The email address or the password is wrong',
        advice: 'If you have accounts in several organizations, name the organization too.',
      }
    : explain(error);
  return (
    <Alert color="red" variant="outline" title={title} role="alert">
      {advice}
    </Alert>
  );
}
