import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Topic } from './queries';

const pollEvery = 5_000; // milliseconds

/**
 * Keeps what is on the screen current: the server says what changed, and the queries with
 * those topics are asked again. Without word from the server they are asked every 5 s.
 */
export function useLive(stream: string): void {
  const client = useQueryClient();
  useEffect(() => {
    let heard = false;
    const poll = setInterval(() => {
      if (!heard && document.visibilityState === 'visible') {
        refetch(client, ['config', 'health', 'nodes']);
      }
    }, pollEvery);
    const source = new EventSource(stream);
    source.addEventListener('open', () => {
      heard = true; // the first event names everything: what happened while nobody listened
    });
    source.addEventListener('error', () => {
      heard = false;
    });
    source.addEventListener('change', (event) => refetch(client, topicsOf(event.data)));
    return () => {
      clearInterval(poll);
      source.close();
    };
  }, [client, stream]);
}

/** The topics of an event; all of them where it cannot be read. */
export function topicsOf(data: unknown): Topic[] {
  try {
    const { topics } = JSON.parse(String(data)) as { topics: Topic[] };
    return Array.isArray(topics) ? topics : ['config', 'health', 'nodes'];
  } catch {
    return ['config', 'health', 'nodes'];
  }
}

function refetch(client: QueryClient, topics: readonly Topic[]): void {
  void client.invalidateQueries(
    { predicate: (query) => query.meta?.topics?.some((t) => topics.includes(t)) ?? false },
    { cancelRefetch: false }, // a listing that takes long is let come in
  );
}
