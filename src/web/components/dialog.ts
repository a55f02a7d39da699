import { html, type TemplateResult } from 'lit';
import { ref } from 'lit/directives/ref.js';
import { icon } from './icon.ts';

export interface ModalOptions {
  readonly title: string;
  /** The person has closed it; the caller stops rendering it. */
  readonly onClose: () => void;
}

/** A dialog over the page: takes the focus, gives it back, closes with Escape. Rendered = open. */
export function modalDialog({ title, onClose }: ModalOptions, content: unknown): TemplateResult {
  return html`
    <dialog class="dialog" aria-label=${title} ${ref(open)} @close=${onClose} @click=${closeOutside}>
      <div class="dialog-body">
        <header><h2>${title}</h2>
          <button type="button" class="button icon-only" aria-label="Close" @click=${closeDialog}>${icon('close')}</button></header>
        ${content}
      </div>
    </dialog>
  `;
}

/** Closes the dialog that the element of the event is in. */
export function closeDialog(event: Event): void {
  if (event.target instanceof Element) event.target.closest('dialog')?.close();
}

function open(element: Element | undefined): void {
  // It has to be in the document, which it is once the rendering is done.
  queueMicrotask(() => {
    if (element instanceof HTMLDialogElement && element.isConnected && !element.open) element.showModal();
  });
}

function closeOutside(event: Event): void {
  if (event.target instanceof HTMLDialogElement) event.target.close();
}
