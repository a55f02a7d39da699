import { html, type TemplateResult } from 'lit';
import { icon } from '../parts/icon.ts';

interface CopyOptions {
  /** What it is, for who cannot see it. */
  readonly label: string;
  onCopied(): void;
}

/** Text that is there to be taken elsewhere: selectable, with a button that copies it. */
export function copyable(text: string, { label, onCopied }: CopyOptions): TemplateResult {
  return html`<div class="copyable">
    <pre tabindex="0" role="group" aria-label=${label}>${text}</pre>
    <button type="button" class="button small" aria-label="Copy ${label}" @click=${(event: Event) => copy(event, text).then(onCopied)}>${icon('copy')}Copy</button>
  </div>`;
}

/** The clipboard needs a secure origin; where it is not, the text is selected for the person's own Ctrl+C. */
async function copy({ currentTarget }: Event, text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text);
  const pre = currentTarget instanceof Element ? currentTarget.previousElementSibling : null;
  if (pre) getSelection()?.selectAllChildren(pre);
}
