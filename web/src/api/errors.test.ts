import { describe, expect, it } from 'vitest';
import { ApiError, explain } from './errors';

const answer = (status: number, body: string, headers: Record<string, string> = {}) => new Response(body, { status, headers });

describe('ApiError', () => {
  it('names a field as forms do', async () => {
    const error = await ApiError.of(
      answer(
        422,
        '{"error":{"message":"targets[0].provider_id: UUID parsing failed","type":"invalid_request_error","param":"targets[0].provider_id"}}',
      ),
    );
    expect(error.field).toBe('targets.0.provider_id');
  });

  it('makes the best of what is no JSON', async () => {
    const error = await ApiError.of(answer(502, '<html>'));
    expect(error.message).toBe('the answer was 502 and no JSON');
  });

  it.each([0, 400, 401, 403, 404, 409, 412, 429, 500, 503])('says what to do about %i', (status) => {
    const { title, advice } = explain(new ApiError(status, { message: 'it failed', type: 'internal_error' }));
    expect(title).not.toBe('');
    expect(advice).not.toBe('');
  });

  it('knows how long to wait', async () => {
    const error = await ApiError.of(answer(429, '{"error":{"message":"too many","type":"invalid_request_error"}}', { 'Retry-After': '7' }));
    expect(explain(error).advice).toContain('7 seconds');
  });
});
