import '../components/push-card.ts';
import { html, nothing, type TemplateResult } from 'lit';
import { live } from 'lit/directives/live.js';
import type { JsonObject } from '../../core/json.ts';
import { NOTICE_KIND_NAMES, type NoticeKind, type NoticeRule } from '../../core/notices.ts';
import { formValues, inputValue } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData } from '../components/remote-data.ts';
import { LANGUAGES } from '../texts/language.ts';
import { text } from '../texts/text.ts';
import { kindWords, ruleEffect, ruleScope, wayWords } from './notice-words.ts';

const PATH = '/api/v1/notices/settings';

/** How a person is told, as `GET /api/v1/notices/settings` answers. */
interface NoticeSettingsView {
  readonly rules: readonly NoticeRule[];
  readonly ways: readonly { readonly name: string; readonly kind: string }[];
  readonly language: string;
}

/** Section of the settings in which a person chooses how to be told. Not there for a token that is no person of the household. */
export class SettingsNotices extends PageElement {
  readonly #settings = new RemoteData<NoticeSettingsView>(() => this.requestUpdate());

  protected override connected(): readonly Stop[] {
    void this.#load();
    // The browser becomes a way when the person turns its notices on.
    return [...super.connected(), this.app.push.subscribe(() => void this.#load())];
  }

  protected override render(): TemplateResult | typeof nothing {
    const view = this.#settings.value;
    if (!view) return nothing;
    return html`<div class="stack">
      <section class="card stack" aria-labelledby="settings-reach">
        <h2 id="settings-reach">${text('settings.reach')}</h2>
        <p>${text(view.ways.length === 0 ? 'settings.reach_none' : 'settings.reach_order')}</p>
        ${view.ways.length === 0 ? nothing : html`<ol>${view.ways.map(({ name, kind }) => html`<li><bdi>${wayWords(name)}</bdi>${name === kind ? nothing : html` <span class="quiet">${kind}</span>`}</li>`)}</ol>`}
        ${this.#language(view)} ${view.rules.length === 0 ? nothing : this.#rules(view.rules)} ${this.#form(view)}
      </section>
      <atmo-push-card .app=${this.app}></atmo-push-card>
    </div>`;
  }

  #language({ language }: NoticeSettingsView): TemplateResult {
    const choose = (event: Event) => void this.#change({ language: inputValue(event) });
    return html`<label class="field"><span class="label">${text('settings.notice_language')}</span>
      <select @change=${choose}>${Object.entries(LANGUAGES).map(
        ([tag, { name }]) => html`<option value=${tag} lang=${tag} .selected=${live(tag === language)}>${name}</option>`,
      )}</select></label>`;
  }

  #rules(rules: readonly NoticeRule[]): TemplateResult {
    return html`<h3>${text('settings.rules')}</h3>
      <p class="quiet">${text('settings.rules_order')}</p>
      <ul class="tokens" aria-label=${text('settings.rules')}>${rules.map(
        (rule, place) => html`<li class="row"><span class="grow"><strong>${ruleScope(rule)}</strong>: <bdi>${ruleEffect(rule)}</bdi></span>
          <button type="button" class="button small" aria-label=${text('settings.rule_remove', { rule: ruleScope(rule) })}
            @click=${() => void this.#save(rules.toSpliced(place, 1))}>${icon('trash')}${text('settings.remove')}</button></li>`,
      )}</ul>`;
  }

  #form({ rules, ways }: NoticeSettingsView): TemplateResult {
    const names = [...new Set(['push', ...ways.map(({ name }) => name)])];
    return html`<details><summary>${text('settings.rule_add')}</summary>
      <form class="stack" @submit=${(event: SubmitEvent) => void this.#add(event, rules)}>
        <fieldset class="checks"><legend>${text('settings.rule_kinds')}</legend><p class="quiet">${text('settings.rule_kinds_help')}</p>
          ${NOTICE_KIND_NAMES.map((kind) => check('kinds', kind, kindWords(kind)))}</fieldset>
        <div class="row">
          <label class="field"><span class="label">${text('settings.rule_from')}</span><input name="from" type="time" /></label>
          <label class="field"><span class="label">${text('settings.rule_to')}</span><input name="to" type="time" /></label>
        </div>
        <fieldset class="checks"><legend>${text('settings.rule_ways')}</legend><p class="quiet">${text('settings.rule_ways_help')}</p>
          ${names.map((name) => check('ways', name, wayWords(name)))}</fieldset>
        <p><button class="button primary">${text('settings.save')}</button></p>
      </form></details>`;
  }

  /** Puts a new rule before the others, since the first one that fits decides. */
  async #add(event: SubmitEvent, rules: readonly NoticeRule[]): Promise<void> {
    const { from = '', to = '' } = formValues(event);
    const form = event.currentTarget as HTMLFormElement;
    const chosen = (name: string) => new FormData(form).getAll(name).map(String);
    const kinds = chosen('kinds') as readonly NoticeKind[];
    const hours = { ...(from !== '' && { from }), ...(to !== '' && { to }) };
    if (await this.#save([{ ...(kinds.length > 0 && { kinds }), ...hours, ways: chosen('ways') }, ...rules])) form.reset();
  }

  #save(rules: readonly NoticeRule[]): Promise<boolean> {
    return this.#change({ rules: rules as unknown as readonly JsonObject[] });
  }

  async #change(settings: JsonObject): Promise<boolean> {
    try {
      await this.app.hub.post(PATH, settings);
      this.notify(text('settings.saved'));
      await this.#load();
      return true;
    } catch (error) {
      this.notifyError(error);
      return false;
    }
  }

  #load(): Promise<void> {
    return this.#settings.load(() => this.app.hub.get<NoticeSettingsView>(PATH));
  }
}

function check(name: string, value: string, words: string): TemplateResult {
  return html`<label class="check"><input type="checkbox" name=${name} value=${value} /><span><bdi>${words}</bdi></span></label>`;
}

customElements.define('atmo-settings-notices', SettingsNotices);
