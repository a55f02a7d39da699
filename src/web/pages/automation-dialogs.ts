import { html, nothing, type TemplateResult } from 'lit';
import { isJsonObject } from '../../core/json.ts';
import { modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { dateTimeWords } from '../components/formatting.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { text } from '../texts/text.ts';
import { savedWords } from './automation-views.ts';
import { type AutomationView, type Difference, differenceWords, type HomeNames } from './automation-words.ts';
import { type MomentView, whyWords } from './why-words.ts';

/** A version of an automation in the result of `list_automation_versions`. */
interface VersionView {
  readonly version: number;
  readonly at: string;
  readonly by: string;
  readonly note?: string;
  readonly is_current: boolean;
  readonly diff: readonly Difference[];
}

/** Base class of the dialogs about one automation. `close` is called when the person has closed the dialog. */
abstract class AutomationDialog extends PageElement {
  static override properties = {
    ...PageElement.properties,
    automation: { attribute: false },
    names: { attribute: false },
    close: { attribute: false },
  };
  declare automation: AutomationView;
  declare names: HomeNames;
  declare close: () => void;
}

/** The dialog that says why an automation ran or did not run, lately or at a moment. */
class AutomationWhy extends AutomationDialog {
  readonly #moments = new RemoteData<MomentView & { readonly traces: readonly MomentView[] }>(() => this.requestUpdate());

  /** The moment that the person asked about. */
  #moment = '';

  protected override connected(): readonly Stop[] {
    this.#ask('');
    return super.connected();
  }

  /** Asks about a moment in the local time of the browser, such as `2026-05-03T18:02`; about what happened lately if it is empty. */
  #ask(moment: string): void {
    this.#moment = moment;
    const at = moment === '' ? {} : { at: new Date(moment).toISOString() };
    void this.#moments.load(async () => {
      const answer = await this.app.hub.invoke('explain_automation', { agent_id: this.automation.agent_id, ...at });
      return answer as unknown as MomentView & { readonly traces: readonly MomentView[] };
    });
  }

  #momentForm(): TemplateResult {
    const submit = (event: SubmitEvent) => this.#ask(formValues(event).moment ?? '');
    return html`<form class="row" @submit=${submit}>
      <label class="field grow"><span class="label">${text('why.moment')}</span><input type="datetime-local" name="moment" /></label>
      <button class="button">${text('why.ask')}</button></form>`;
  }

  protected override render(): TemplateResult {
    const body = remoteDataView(this.#moments, (first) => {
      const others = first.traces.filter(({ at, cause }) => at !== first.at || cause !== first.cause);
      return html`<p>${whyWords(first, this.names)}</p>
        ${others.length === 0 ? nothing : html`<h3>${text(this.#moment === '' ? 'why.lately' : 'why.around')}</h3><ul class="stack small">${others.map((one) => html`<li>${whyWords(one, this.names)}</li>`)}</ul>`}`;
    });
    const content = html`${this.#momentForm()}<div class="stack" aria-live="polite">${body}</div>`;
    return modalDialog({ title: text('why.of', { name: this.automation.name }), onClose: this.close }, content);
  }
}

/** The dialog with the versions of an automation, each with what differs from the one before. */
class AutomationVersions extends AutomationDialog {
  readonly #versions = new RemoteData<readonly VersionView[]>(() => this.requestUpdate());
  /** The version about which the person is asked. */
  #asked: number | undefined;

  protected override connected(): readonly Stop[] {
    void this.#versions.load(async () => {
      const answer = await this.app.hub.invoke('list_automation_versions', { agent_id: this.automation.agent_id });
      return (answer as unknown as { readonly versions: readonly VersionView[] }).versions;
    });
    return super.connected();
  }

  protected override render(): TemplateResult {
    const body = remoteDataView(
      this.#versions,
      (versions) => html`<ol class="stack versions">${versions.map((version) => this.#version(version))}</ol>`,
    );
    return modalDialog({ title: text('versions.of', { name: this.automation.name }), onClose: this.close }, body);
  }

  #version(version: VersionView): TemplateResult {
    const { version: number, at, by, note, is_current: isCurrent, diff } = version;
    const { name } = this.automation;
    const label = text('versions.back_thing', { number, name });
    return html`<li class="stack">
      <div class="row"><strong class="grow">${text('versions.number', { number })}</strong>
        ${
          isCurrent
            ? html`<span class="chip good">${text('versions.now')}</span>`
            : html`<button type="button" class="button small" aria-label=${label} aria-expanded=${number === this.#asked} @click=${() => this.#ask(number)}>${text('versions.back')}</button>`
        }</div>
      ${number === this.#asked ? this.#question(number) : nothing}
      <p class="quiet small">${text('versions.made', { time: dateTimeWords(at), by })}${note === undefined ? nothing : html`<br /><bdi>${note}</bdi>`}</p>
      ${diff.length === 0 ? html`<p class="small">${text('versions.first')}</p>` : html`<ul class="small">${diff.map((one) => html`<li>${differenceWords(one)}</li>`)}</ul>`}
    </li>`;
  }

  #question(number: number): TemplateResult {
    const present = this.#versions.value?.find(({ is_current: isCurrent }) => isCurrent)?.version ?? '';
    return html`<div role="status" class="stack"><p>${text('versions.back_question', { number, present })}</p>
      <p class="row"><button type="button" class="button small primary" @click=${() => void this.#bringBack(number)}>${text('versions.back_now')}</button>
        <button type="button" class="button small" @click=${() => this.#ask(undefined)}>${text('forms.cancel')}</button></p></div>`;
  }

  #ask(number: number | undefined): void {
    this.#asked = number;
    this.requestUpdate();
  }

  async #bringBack(number: number): Promise<void> {
    const label = text('versions.back_thing', { number, name: this.automation.name });
    const answer = await this.callTool({
      tool: 'roll_back_automation',
      params: { agent_id: this.automation.agent_id, version: number },
      label,
    });
    if (isJsonObject(answer))
      this.notify(
        savedWords(text('versions.brought_back', { number, version: Number(answer.version) }), answer, this.app.store.state.devices),
      );
    // After the notice, which a dialog that has left the page could not show any more.
    this.close();
  }
}

customElements.define('atmo-automation-why', AutomationWhy);
customElements.define('atmo-automation-versions', AutomationVersions);
