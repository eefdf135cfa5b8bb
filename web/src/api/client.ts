import createClient from 'openapi-fetch';
import { ApiError, unreachable } from './errors';
import type { paths } from './schema';

/** What is told when a call finds that nobody is signed in any more. */
export const sessionEnded = new EventTarget();

export const api = createClient<paths>({
  // A change with a session has to show that it comes from this site.
  headers: { 'X-Spillway-Request': 'portal' },
  fetch: (request) => fetch(request).catch((cause: unknown) => Promise.reject(unreachable(cause))),
});

api.use({
  async onResponse({ response, request }) {
    if (response.ok) {
      return;
    }
    const error = await ApiError.of(response);
    if (error.status === 401 && new URL(request.url).pathname !== '/auth/login') {
      sessionEnded.dispatchEvent(new Event('ended'));
    }
    throw error;
  },
});

/** The body of an answer. What is no success was thrown. */
export async function body<T>(call: Promise<{ data?: T }>): Promise<NonNullable<T>> {
  const { data } = await call;
  if (data === undefined || data === null) {
    throw new ApiError(502, { message: 'the answer was empty', type: 'internal_error' });
  }
  return data;
}

/** A resource as it was read, and the revision that a change of it names. */
export interface Read<T> {
  row: T;
  etag: string;
}

export async function read<T>(call: Promise<{ data?: T; response: Response }>): Promise<Read<NonNullable<T>>> {
  const { response } = await call;
  return { row: await body(call), etag: response.headers.get('ETag') ?? '*' };
}
