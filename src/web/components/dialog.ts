import { html, type TemplateResult } from 'lit';
import { ref } from 'lit/directives/ref.js';
import { text } from '../texts/text.ts';
import { icon } from './icon.ts';

export interface ModalOptions {
  readonly title: string;
  /** Called when the person has closed the dialog. The caller of `modalDialog` must then stop rendering it. */
  readonly onClose: () => void;
}

/** Returns a modal dialog, which is open while it is rendered. Escape closes it. The focus then returns to where it was before. */
export function modalDialog({ title, onClose }: ModalOptions, content: unknown): TemplateResult {
  return html`
    <dialog class="dialog" aria-label=${title} ${ref(open)} @close=${onClose} @click=${closeOutside}>
      <div class="dialog-body">
        <header><h2>${title}</h2>
          <button type="button" class="button icon-only" aria-label=${text('forms.close')} @click=${closeDialog}>${icon('close')}</button></header>
        ${content}
      </div>
    </dialog>
  `;
}

/** Closes the dialog that contains the event's target. */
export function closeDialog(event: Event): void {
  if (event.target instanceof Element) event.target.closest('dialog')?.close();
}

function open(element: Element | undefined): void {
  // `showModal` needs an element in the document, and the dialog enters the document only after this call.
  queueMicrotask(() => {
    if (element instanceof HTMLDialogElement && element.isConnected && !element.open) element.showModal();
  });
}

function closeOutside(event: Event): void {
  if (event.target instanceof HTMLDialogElement) event.target.close();
}
