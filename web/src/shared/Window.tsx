import { Modal, type ModalProps } from '@mantine/core';
import { useEffect, useState } from 'react';

/** A window over the page. When it goes, the focus is again where it was: who uses the keyboard would have to begin anew. */
export function Window(props: Omit<ModalProps, 'opened'>) {
  const [before] = useState(() => document.activeElement);
  useEffect(() => () => focusLater(before), [before]);
  return <Modal opened {...props} />;
}

/** Focuses what is still on the page, once what goes is gone, and unless something else has the focus by then. */
export function focusLater(element: Element | null): void {
  setTimeout(() => {
    if (element instanceof HTMLElement && element.isConnected && (document.activeElement ?? document.body) === document.body) {
      element.focus({ preventScroll: true });
    }
  });
}
