import './automation-dialogs.ts';
import './automation-proposals.ts';
import { html, nothing, type TemplateResult } from 'lit';
import type { Json, JsonObject } from '../../core/json.ts';
import { closeDialog, modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { dateTimeWords, dateWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { text } from '../texts/text.ts';
import { definitionView } from './automation-views.ts';
import { type AutomationView, type HomeNames, namesIn } from './automation-words.ts';

const DAY_SECONDS = 86_400;
/** The ends that a person can choose, in days. */
const LIVES = [7, 30, 90, 365];

const BUTTONS = { renew: 'automations.renew', remove: 'automations.remove', why: 'why.title', versions: 'versions.title' } as const;

type DialogKind = 'renew' | 'remove' | 'why' | 'versions';
type Dialog = { readonly kind: DialogKind; readonly automation: AutomationView } | undefined;

/** Page about the automations that run on the hub: when each runs, what it does, how its last run ended, and when it ends itself. */
export class AutomationsPage extends PageElement {
  readonly #automations = new RemoteData<readonly AutomationView[]>(() => this.requestUpdate());
  readonly #close = (): void => {
    this.#dialog = undefined;
    this.requestUpdate();
  };
  #dialog: Dialog;

  protected override connected(): readonly Stop[] {
    this.#load();
    const stop = this.app.store.onEvent(({ type }) => {
      if (type === 'agent.changed') this.#load();
    });
    return [...super.connected(), stop];
  }

  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><div><h1>${text('automations.title')}</h1><p>${text('automations.lead')}</p></div>
        <a class="button" href="#/new-automation">${icon('plus')}${text('editor.new')}</a></header>
      <atmo-automation-proposals .app=${this.app}></atmo-automation-proposals>
      ${remoteDataView(this.#automations, (automations) => this.#list(automations))}
      ${this.#dialog ? this.#dialogView(this.#dialog) : nothing}
    `;
  }

  #dialogView({ kind, automation }: NonNullable<Dialog>): TemplateResult {
    if (kind === 'renew') return this.#renewDialog(automation);
    if (kind === 'remove') return this.#removeDialog(automation);
    if (kind === 'why') {
      return html`<atmo-automation-why .app=${this.app} .automation=${automation} .names=${this.#names()} .close=${this.#close}></atmo-automation-why>`;
    }
    return html`<atmo-automation-versions .app=${this.app} .automation=${automation} .names=${this.#names()} .close=${this.#close}></atmo-automation-versions>`;
  }

  #list(automations: readonly AutomationView[]): TemplateResult {
    if (automations.length === 0) return html`<p class="quiet center">${text('automations.none')}</p>`;
    return html`<ul class="stack">${automations.map((automation) => html`<li>${this.#card(automation)}</li>`)}</ul>`;
  }

  #card(automation: AutomationView): TemplateResult {
    const { agent_id: id, name, status } = automation;
    const isOver = status === 'killed' || status === 'expired';
    return html`<section class="card stack" aria-label=${name} data-automation=${id}>
      <div class="row"><h2 class="grow"><bdi>${name}</bdi></h2><span class="chip ${status}">${text(`automations.is_${status}`)}</span></div>
      <dl class="facts">
        ${definitionView(automation, this.#names())}
        <dt>${text('automations.last_run')}</dt><dd>${lastRun(automation)}</dd>
        ${automation.next_run_at === undefined ? nothing : html`<dt>${text('automations.next_run')}</dt><dd>${dateTimeWords(automation.next_run_at)}</dd>`}
        <dt>${text('automations.end')}</dt><dd>${endWords(automation, isOver)}</dd>
      </dl>
      <div class="row">
        ${isOver ? nothing : this.#toggle(automation)}
        ${this.#dialogButton('why', automation)}
        ${isOver ? nothing : html`<a class="button" href="#/automations/${encodeURIComponent(id)}">${text('editor.edit')}</a>`}
        ${isOver ? nothing : this.#dialogButton('versions', automation)}
        ${status === 'killed' ? nothing : this.#dialogButton('renew', automation)}
        ${isOver ? nothing : this.#dialogButton('remove', automation)}
      </div>
    </section>`;
  }

  #dialogButton(kind: DialogKind, automation: AutomationView): TemplateResult {
    return html`<button type="button" class="button" aria-haspopup="dialog" @click=${() => this.#open(kind, automation)}>${text(BUTTONS[kind])}</button>`;
  }

  #toggle(automation: AutomationView): TemplateResult {
    const { name, status } = automation;
    const isEnabled = status !== 'disabled';
    return html`<button type="button" class="button" role="switch" aria-checked=${isEnabled ? 'true' : 'false'}
      aria-label=${text('automations.runs_switch', { name })} @click=${() => void this.#setEnabled(automation, !isEnabled)}>
      ${text(isEnabled ? 'automations.disable' : 'automations.enable')}</button>`;
  }

  #renewDialog({ agent_id: id, name, parent }: AutomationView): TemplateResult {
    const submit = (event: SubmitEvent) => {
      const { life = '' } = formValues(event);
      closeDialog(event);
      void this.#renew(id, Number(life));
    };
    const body = html`<form class="stack" @submit=${submit}>
      <p>${text('automations.renew_why')}</p>
      <label class="field"><span class="label">${text('automations.ends_in')}</span>
        <select name="life">
          ${parent === undefined ? html`<option value="0">${text('automations.never')}</option>` : nothing}
          ${LIVES.map((days) => html`<option value=${days}>${text('automations.days', { count: days })}</option>`)}
        </select></label>
      <p class="row"><button class="button primary">${text('automations.renew')}</button>
        <button type="button" class="button" @click=${closeDialog}>${text('forms.cancel')}</button></p>
    </form>`;
    return modalDialog({ title: text('automations.renew_thing', { name }), onClose: this.#close }, body);
  }

  #removeDialog({ agent_id: id, name }: AutomationView): TemplateResult {
    const body = html`<form class="stack" method="dialog" @submit=${() => void this.#remove(id)}>
      <p>${text('automations.remove_why')}</p>
      <p class="row"><button class="button danger">${text('automations.remove')}</button>
        <button type="button" class="button" @click=${closeDialog}>${text('forms.cancel')}</button></p>
    </form>`;
    return modalDialog({ title: text('automations.remove_thing', { name }), onClose: this.#close }, body);
  }

  #open(kind: DialogKind, automation: AutomationView): void {
    this.#dialog = { kind, automation };
    this.requestUpdate();
  }

  async #setEnabled({ agent_id: id, name }: AutomationView, enabled: boolean): Promise<void> {
    const label = text(enabled ? 'automations.enable_thing' : 'automations.disable_thing', { name });
    await this.#change({ tool: 'set_agent_enabled', params: { agent_id: id, enabled }, label });
  }

  async #renew(id: string, days: number): Promise<void> {
    const params = { agent_id: id, ...(days > 0 && { ttl_seconds: days * DAY_SECONDS }) };
    await this.#change({ tool: 'renew_agent', params, label: text('automations.renew_thing', { name: id }) });
  }

  async #remove(id: string): Promise<void> {
    await this.#change({ tool: 'kill_agent', params: { agent_id: id }, label: text('automations.remove_thing', { name: id }) });
  }

  async #change(call: { readonly tool: string; readonly params: JsonObject; readonly label: string }): Promise<void> {
    if ((await this.callTool(call)) === undefined) return;
    this.notify(text('automations.done'));
    this.#load();
  }

  #names(): HomeNames {
    return namesIn(this.app.store.state.devices);
  }

  #load(): void {
    const question = async () => {
      const answer = (await this.app.hub.invoke('list_automations')) as { readonly automations?: Json } | null;
      return (answer?.automations ?? []) as unknown as readonly AutomationView[];
    };
    void this.#automations.load(question);
  }
}

function lastRun({ last_run_at: at, last_outcome: outcome, last_error: error, runs, status }: AutomationView): TemplateResult {
  const when = at === undefined ? text('automations.never_ran') : dateTimeWords(at);
  const how = at === undefined || outcome === undefined ? nothing : html`: ${text(`automations.run_${outcome}`)}`;
  const isProblem = error && (status === 'failing' || outcome === 'failure' || outcome === 'unknown' || outcome === undefined);
  return html`${when}${how} <span class="quiet">${text('automations.runs', { count: runs })}</span>
    ${isProblem ? html`<p class="alert small">${icon('warning')}${error.message}</p>` : nothing}`;
}

function endWords({ expires_at: at, renews_itself: renewsItself, reason }: AutomationView, isOver: boolean): string {
  if (isOver) return reason ?? dateWords(at);
  return renewsItself === true ? text('automations.no_end') : dateTimeWords(at);
}

customElements.define('atmo-page-automations', AutomationsPage);
