import type { SimulatedAnswer } from '../../api/schema';

interface MadeUp {
  id: string;
  title: string;
  answer?: Omit<SimulatedAnswer, 'position'>;
}

/** What a target can be made to answer: the failures that differ in what follows. */
export const answers: MadeUp[] = [
  { id: 'ok', title: 'As asked (200)' },
  { id: '429', title: 'Rate-limited (429, retry after 20 s)', answer: { status: 429, headers: { 'Retry-After': '20' } } },
  { id: '503', title: 'Server error (503)', answer: { status: 503 } },
  { id: '529', title: 'Overloaded (529)', answer: { status: 529 } },
  { id: '401', title: 'Credential refused (401)', answer: { status: 401 } },
  { id: '402', title: 'Quota used up (402)', answer: { status: 402 } },
  { id: '404', title: 'Model not there (404)', answer: { status: 404 } },
  { id: '400', title: 'Bad request (400)', answer: { status: 400 } },
  { id: 'timeout', title: 'Nothing in time', answer: { cause: 'timeout' } },
  { id: 'connection_refused', title: 'Connection refused', answer: { cause: 'connection_refused' } },
  { id: 'bad_answer', title: '200 that is no answer', answer: { status: 200, cause: 'bad_answer' } },
  { id: 'broken', title: 'Stream breaks after content', answer: { phase: 'content', cause: 'connection' } },
];

/** A made-up answer of the target at a position; none where it answers as asked. */
export function answerOf(position: number, id: string): SimulatedAnswer[] {
  const answer = answers.find((a) => a.id === id)?.answer;
  return answer ? [{ position, ...answer }] : [];
}
