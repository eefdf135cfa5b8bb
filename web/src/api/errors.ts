import type { Error as Envelope } from './schema';

type Details = Envelope['error'];

/** What the API refused, or that it could not be asked (status 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  /** The field at fault as a form names it: `targets.0.provider_id`. */
  readonly field: string | undefined;
  /** Seconds. */
  readonly retryAfter: number | undefined;

  constructor(status: number, details: Details, retryAfter?: number) {
    super(details.message);
    this.name = 'ApiError';
    this.status = status;
    this.code = details.code;
    this.field = details.param?.replace(/\[(\d+)\]/g, '.$1');
    this.retryAfter = retryAfter;
  }

  static async of(response: Response): Promise<ApiError> {
    const wait = Number(response.headers.get('Retry-After') ?? Number.NaN);
    const parsed: unknown = await response
      .clone()
      .json()
      .catch(() => null);
    const details = isEnvelope(parsed)
      ? parsed.error
      : ({ message: `the answer was ${response.status} and no JSON`, type: 'internal_error' } as const);
    return new ApiError(response.status, details, Number.isFinite(wait) ? wait : undefined);
  }

  /** Somebody changed the resource since it was read. */
  get stale(): boolean {
    return this.status === 412;
  }
}

function isEnvelope(v: unknown): v is Envelope {
  return typeof v === 'object' && v !== null && 'error' in v && typeof v.error === 'object';
}

export function unreachable(cause: unknown): ApiError {
  const error = new ApiError(0, { message: 'the gateway could not be reached', type: 'internal_error' });
  error.cause = cause;
  return error;
}

export interface Explained {
  title: string;
  /** What to do about it. */
  advice: string;
}

/** An error in words for a person: what happened, and what to do. */
export function explain(error: unknown): Explained {
  if (!(error instanceof ApiError)) {
    return {
      title: 'Something went wrong on this page',
      advice: 'Reload it. If it happens again, tell whoever runs the gateway.',
    };
  }
  const says = sentence(error.message);
  switch (error.status) {
    case 0:
      return {
        title: 'The gateway cannot be reached',
        advice: 'Check your connection, then try again. Nothing was lost.',
      };
    case 401:
      return { title: says, advice: 'Sign in again.' };
    case 403:
      return { title: 'Your role does not allow this', advice: 'Ask an administrator of your organization.' };
    case 404:
      return { title: says, advice: 'Somebody may have deleted it. Reload the page.' };
    case 409:
      return { title: says, advice: 'Change what it conflicts with, or choose another value.' };
    case 412:
      return {
        title: 'Somebody changed this while you were editing',
        advice: 'Load the new version. Your input stays.',
      };
    case 429:
      return { title: 'Too many attempts', advice: `Try again in ${error.retryAfter ?? 30} seconds.` };
    case 503:
      return { title: says, advice: 'Try again in a moment. Configuration is safe; only the nodes cannot be asked.' };
    default:
      return error.status >= 500
        ? { title: says, advice: 'Try again. If it stays, give the request id to whoever runs the gateway.' }
        : { title: says, advice: 'Change the value and save again.' };
  }
}

/** The API speaks in lower case, a page does not. */
export function sentence(s: string): string {
  const text = s.charAt(0).toUpperCase() + s.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
