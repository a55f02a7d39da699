import '../components/misclick-guard.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { putsSomethingBack, refusalOf, rehearseUndo, type UndoableCalls, type UndoPreview, type UndoQuestion } from '../api/undo.ts';
import type { App } from '../app.ts';
import { closeDialog, modalDialog } from '../components/dialog.ts';
import { icon } from '../components/icon.ts';
import { LightElement, type Stop } from '../components/light-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { text } from '../texts/text.ts';
import { undoText } from './undo-words.ts';

/** The dialog about an undo: what it puts back, what it cannot, and why it is refused. The person confirms it there. */
class UndoQuestionDialog extends LightElement {
  static override properties = { app: { attribute: false }, question: { attribute: false } };
  declare app: App;
  declare question: UndoQuestion;

  protected override render(): TemplateResult {
    const { undo } = this.app;
    const { calls = 1, label, preview, traceId } = this.question;
    const isPossible = refusalOf(preview) === undefined;
    return modalDialog(
      { title: text('undo.undo_question', { label }), onClose: () => undo.dismiss() },
      html`${calls > 1 ? html`<p>${text('undo.together', { count: calls })}</p>` : nothing} ${previewView(preview, this.app)}
        <footer>
          <button type="button" class="button" @click=${closeDialog}>${text(isPossible ? 'forms.cancel' : 'forms.close')}</button>
          ${isPossible ? html`<atmo-steady about=${traceId}><button type="button" class="button primary" @click=${() => void undo.confirm()}>${text('undo.confirm')}</button></atmo-steady>` : nothing}
        </footer>`,
    );
  }
}

/** What the undo of a call would do, asked of the hub when it is shown. Has a button for it where it is possible. */
class UndoFacts extends LightElement {
  static override properties = { app: { attribute: false }, calls: { attribute: false } };
  declare app: App;
  declare calls: UndoableCalls;
  readonly #preview = new RemoteData<UndoPreview>(() => this.requestUpdate());

  protected override connected(): readonly Stop[] {
    void this.#preview.load(() => rehearseUndo(this.app.hub, this.calls.traceId));
    return [];
  }

  protected override render(): TemplateResult {
    return html`<section class="stack" aria-label=${text('undo.detail')}>${remoteDataView(this.#preview, (preview) => this.#view(preview))}</section>`;
  }

  #view(preview: UndoPreview): TemplateResult {
    const button = html`<p><button type="button" class="button small" @click=${() => void this.app.undo.undo(this.calls)}>
      ${icon('back')}${text('undo.undo')}</button></p>`;
    return html`${previewView(preview, this.app)} ${refusalOf(preview) === undefined && putsSomethingBack(preview) ? button : nothing}`;
  }
}

function previewView(preview: UndoPreview, { store }: App): TemplateResult {
  const nameOf = (id: string) => store.state.devices.find((device) => device.id === id)?.name ?? id;
  const { putsBack, mayChange, remarks, refusal } = undoText(preview, nameOf);
  const lines = [...mayChange, ...remarks];
  return html`
    ${refusal === undefined ? nothing : html`<p><strong>${text('undo.cannot')}.</strong> ${refusal}</p>`}
    ${putsBack.length === 0 ? nothing : html`<p>${text('undo.puts_back')}</p><ul class="will-do">${putsBack.map((line) => html`<li>${line}</li>`)}</ul>`}
    ${lines.map((line) => html`<p>${line}</p>`)}
  `;
}

customElements.define('atmo-undo-question', UndoQuestionDialog);
customElements.define('atmo-undo-facts', UndoFacts);
