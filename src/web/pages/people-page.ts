import { html, nothing, svg, type TemplateResult } from 'lit';
import { PERSON_ROLES, type PersonRole } from '../../core/auth/people.ts';
import { areaKey } from '../../core/devices/device-names.ts';
import { isJsonObject } from '../../core/json.ts';
import type { CallOutcome } from '../api/approvals.ts';
import { areaNames } from '../api/home-store.ts';
import type { CallRequest } from '../app.ts';
import { closeDialog, modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import { every, type Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { languageTag, text, textWith } from '../texts/text.ts';
import {
  type CallerView,
  dayOf,
  fingerprint,
  type InvitationView,
  invitationLink,
  isLoopbackName,
  type OfferedKeyView,
  type PersonView,
  personBody,
  ROLE_TEXTS,
  type SignInView,
} from './people.ts';
import './browser-key-card.ts';
import './house-card.ts';
import { DEVICE_FAMILIES, kindInWords } from './tokens.ts';

const POLL_MS = 5_000;
const INVITE = 'hub:invite_person';

/** What the page shows: everybody to who administers the household, and the own sign-ins to everybody else. */
interface Household {
  readonly caller: CallerView;
  readonly people: readonly PersonView[];
  readonly signIns: readonly SignInView[];
  /** Keys that wait until an approver has compared them; empty for callers who do not see them. */
  readonly offers: readonly OfferedKeyView[];
}

/** An open invitation with its link and, once it is drawn, its QR code. */
interface OpenInvitation extends InvitationView {
  readonly link: string;
  readonly isReachable: boolean;
  readonly squares: readonly (readonly boolean[])[];
}

/** Page about the household: persons with their roles, invitations by QR code, and sign-ins, which can be ended. */
export class PeoplePage extends PageElement {
  readonly #data = new RemoteData<Household>(() => this.requestUpdate());
  #edited: PersonView | 'new' | undefined;
  #removed: PersonView | undefined;
  #invitation: OpenInvitation | undefined;
  #role: PersonRole = 'child';

  protected override connected(): readonly Stop[] {
    this.#load();
    const stop = this.app.store.onEvent(({ type }) => {
      if (type === 'token.issued' || type === 'token.revoked') this.#load();
    });
    // No event says that a person has offered a key, and the person waits for it to be compared.
    const poll = every(POLL_MS, () => document.hidden || this.#load());
    return [...super.connected(), stop, poll, this.app.calls.onEnd((end) => this.#approved(end))];
  }

  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><h1>${text('people.title')}</h1><p>${text('people.intro')}</p></header>
      <div class="stack">${remoteDataView(this.#data, (household) => this.#household(household))}</div>
      ${this.#edited ? this.#editor(this.#edited) : nothing} ${this.#removed ? this.#removal(this.#removed) : nothing}
      ${this.#invitation ? this.#invitationDialog(this.#invitation) : nothing}
    `;
  }

  #household({ caller, people, signIns, offers }: Household): TemplateResult {
    return html`${offers.map((offer) => this.#offer(offer))} ${caller.administers_people ? this.#people(people) : nothing}
      <atmo-house-card .app=${this.app} .people=${caller.administers_people ? people : caller.person ? [caller.person] : []}></atmo-house-card>
      <atmo-browser-key .app=${this.app}></atmo-browser-key>
      <section class="card" aria-labelledby="sign-ins-title"><h2 id="sign-ins-title">${text('people.sign_ins')}</h2>
        ${signIns.length === 0 ? html`<p class="quiet">${text('people.no_sign_ins')}</p>` : nothing}
        <ul class="people-list">${signIns.map((signIn) => this.#signIn(signIn))}</ul>
      </section>`;
  }

  #offer(offer: OfferedKeyView): TemplateResult {
    const { person, label, key_id: id } = offer;
    const device = label === '' ? person : `${person} (${label})`;
    return html`<section class="card" aria-label=${text('people.key_pending', { device })}>
      <h2>${text('people.key_pending', { device })}</h2>
      <p>${text('people.confirm_help')}</p>
      <p><strong><code>${fingerprint(id)}</code></strong></p>
      <div class="row">
        <button type="button" class="button primary" @click=${() => void this.#confirm(offer)}>${text('people.confirm')}</button>
        <button type="button" class="button" @click=${() => void this.#refuse(offer)}>${text('people.differs')}</button>
      </div>
    </section>`;
  }

  #people(people: readonly PersonView[]): TemplateResult {
    return html`<section class="card" aria-labelledby="people-title"><h2 id="people-title">${text('people.list')}</h2>
      <ul class="people-list">${people.map((person) => this.#person(person))}</ul>
      <button type="button" class="button" @click=${() => this.#edit('new')}>${icon('plus')}${text('people.add')}</button>
    </section>`;
  }

  #person(person: PersonView): TemplateResult {
    const { title, role, rooms, kinds, until, from, to } = person;
    const limits = [
      ...(rooms ? [rooms.map((room) => this.#roomName(room)).join(', ')] : []),
      ...(kinds ? [kinds.map(kindInWords).join(', ')] : []),
      ...(until === undefined ? [] : [text('people.until_text', { time: shortTime(until) })]),
      ...(from === undefined || to === undefined ? [] : [`${from}–${to}`]),
    ];
    return html`<li class="row">
      <span class="grow"><strong><bdi>${title}</bdi></strong> <span class="quiet">${[text(ROLE_TEXTS[role]), ...limits].join(' · ')}</span></span>
      <button type="button" class="button small" aria-label=${text('people.invite_person', { name: title })} @click=${() => void this.#invite(person)}>
        ${icon('share')}${text('people.invite')}</button>
      <button type="button" class="button small" aria-label=${text('people.change', { name: title })} @click=${() => this.#edit(person)}>
        ${icon('edit')}${text('people.edit')}</button>
      ${
        person.name === 'owner'
          ? nothing
          : html`<button type="button" class="button small" aria-label=${text('people.remove_person', { name: title })} @click=${() => this.#askRemoval(person)}>
              ${icon('trash')}${text('people.remove')}</button>`
      }
    </li>`;
  }

  /** Returns the name of a room of a limit; the limit itself where no device is in such a room. */
  #roomName(key: string): string {
    return areaNames(this.app.store.state).find((area) => areaKey(area) === key) ?? key;
  }

  #signIn({ sign_in_id: id, person, label, seen_at: seenAt }: SignInView): TemplateResult {
    return html`<li class="row">
      <span class="grow"><bdi>${label}</bdi> <span class="quiet"><bdi>${person}</bdi> · ${text('people.seen', { time: shortTime(seenAt) })}</span></span>
      <button type="button" class="button small" aria-label=${text('people.end_of', { device: label })} @click=${() => void this.#end(id, label)}>
        ${icon('out')}${text('people.end')}</button>
    </li>`;
  }

  #editor(edited: PersonView | 'new'): TemplateResult {
    const person = edited === 'new' ? undefined : edited;
    const onClose = () => this.#edit(undefined);
    const title = person ? text('people.change', { name: person.title }) : text('people.add');
    return modalDialog(
      { title, onClose },
      html`<form class="stack" @submit=${(event: SubmitEvent) => void this.#save(event, person)}>
        ${
          person
            ? nothing
            : html`<label class="field"><span class="label">${text('people.name')}</span>
                <input name="name" required pattern="[a-z0-9][a-z0-9_.\\-]{0,31}" autocapitalize="none" autocomplete="off" spellcheck="false" />
                <span class="help">${text('people.name_help')}</span></label>`
        }
        <label class="field"><span class="label">${text('people.title_field')}</span>
          <input name="title" required maxlength="64" .value=${person?.title ?? ''} /></label>
        <label class="field"><span class="label">${text('people.role')}</span>
          <select name="role" @change=${(event: Event) => this.#chooseRole(event)}>
            ${PERSON_ROLES.map((role) => html`<option value=${role} ?selected=${role === this.#role}>${text(ROLE_TEXTS[role])}</option>`)}
          </select></label>
        ${this.#role === 'owner' ? nothing : this.#limits(person)}
        <footer><button type="submit" class="button primary">${text(person ? 'people.save' : 'people.add_submit')}</button></footer>
      </form>`,
    );
  }

  #limits(person: PersonView | undefined): TemplateResult {
    const areas = areaNames(this.app.store.state);
    const choices = (name: string, options: readonly (readonly [string, string])[], chosen: readonly string[] | undefined) =>
      options.map(
        ([value, title]) =>
          html`<label class="check"><input type="checkbox" name=${name} value=${value} ?checked=${chosen?.includes(value) ?? false} /><span>${title}</span></label>`,
      );
    const rooms = areas.map((area) => [areaKey(area), area] as const);
    const kinds = DEVICE_FAMILIES.map((kind) => [kind, kindInWords(kind)] as const);
    return html`
      <fieldset><legend>${text('people.rooms')}</legend><p class="quiet">${text('people.all_rooms')}</p>
        <div class="row choices">${choices('rooms', rooms, person?.rooms)}</div></fieldset>
      <details><summary>${text('people.kinds')}</summary><p class="quiet">${text(this.#role === 'adult' ? 'people.all_kinds' : 'people.everyday_kinds')}</p>
        <div class="row choices">${choices('kinds', kinds, person?.kinds)}</div></details>
      <label class="field"><span class="label">${text('people.until')}</span>
        <input name="until" type="date" ?required=${this.#role === 'guest'} .value=${dayOf(person?.until)} /></label>
      <div class="row">
        <label class="field"><span class="label">${text('people.from')}</span><input name="from" type="time" .value=${person?.from ?? ''} /></label>
        <label class="field"><span class="label">${text('people.to')}</span><input name="to" type="time" .value=${person?.to ?? ''} /></label>
      </div>
      <p class="quiet">${text('people.hours_help')}</p>`;
  }

  #removal(person: PersonView): TemplateResult {
    return modalDialog(
      { title: text('people.remove_person', { name: person.title }), onClose: () => this.#askRemoval(undefined) },
      html`<p>${text('people.remove_help', { name: person.title })}</p>
        <footer><button type="button" class="button danger" @click=${() => void this.#remove(person)}>${text('people.remove')}</button></footer>`,
    );
  }

  #invitationDialog({ title, link, isReachable, squares, expires_at: expiresAt }: OpenInvitation): TemplateResult {
    const until = new Date(expiresAt).toLocaleTimeString(languageTag(), { timeStyle: 'short' });
    return modalDialog(
      { title: text('people.invitation_for', { name: title }), onClose: () => this.#show(undefined) },
      html`<p>${textWith('people.invitation_help', { name: html`<bdi>${title}</bdi>`, time: until })}</p>
        ${isReachable ? nothing : html`<p class="alert">${icon('warning')}${text('people.local_only')}</p>`}
        ${qrPicture(squares)} ${this.copyable(link, text('people.link'))}
        <footer><button type="button" class="button" @click=${closeDialog}>${text('forms.close')}</button></footer>`,
    );
  }

  #load(): void {
    void this.#data.load(async () => {
      const { hub } = this.app;
      const caller = await hub.get<CallerView>('/api/v1/me');
      const { sign_ins: signIns } = await hub.get<{ readonly sign_ins: readonly SignInView[] }>('/api/v1/sign-ins');
      const offered = await hub.get<{ readonly keys: readonly OfferedKeyView[] }>('/api/v1/approver-keys').catch(() => ({ keys: [] }));
      const offers = offered.keys.filter(({ person }) => person !== caller.person?.name || caller.administers_people);
      if (!caller.administers_people) return { caller, people: [], signIns, offers };
      const { people } = await hub.get<{ readonly people: readonly PersonView[] }>('/api/v1/people');
      return { caller, people, signIns, offers };
    });
  }

  /** Enrols a key that was compared. The call is dangerous, so the page asks the approver to sign it. */
  async #confirm({ key_id: id, person }: OfferedKeyView): Promise<void> {
    await this.callTool({
      tool: 'hub:confirm_approver_key',
      params: { key_id: id },
      label: text('people.let_person_approve', { name: person }),
    });
    this.#load();
  }

  async #refuse({ key_id: id, person }: OfferedKeyView): Promise<void> {
    await this.attempt(this.app.hub.delete(`/api/v1/approver-keys/${id}`), text('people.refused', { name: person }));
    this.#load();
  }

  #edit(person: PersonView | 'new' | undefined): void {
    this.#edited = person;
    this.#role = person === undefined || person === 'new' ? 'child' : person.role;
    this.requestUpdate();
  }

  #chooseRole(event: Event): void {
    const { value } = event.target as HTMLSelectElement;
    this.#role = PERSON_ROLES.find((role) => role === value) ?? 'child';
    this.requestUpdate();
  }

  #askRemoval(person: PersonView | undefined): void {
    this.#removed = person;
    this.requestUpdate();
  }

  #show(invitation: OpenInvitation | undefined): void {
    this.#invitation = invitation;
    this.requestUpdate();
  }

  async #save(event: SubmitEvent, person: PersonView | undefined): Promise<void> {
    const values = formValues(event);
    const form = event.currentTarget as HTMLFormElement;
    const chosen = (name: string) => new FormData(form).getAll(name).map(String);
    const body = personBody({ values, rooms: chosen('rooms'), kinds: chosen('kinds') });
    const { name = person?.name ?? '', title = name } = values;
    const [tool, label] = person
      ? ['hub:change_person', text('people.change', { name: title })]
      : ['hub:add_person', text('people.add_person', { name: title })];
    if (await this.#make({ tool, params: { ...body, name }, label }, text('people.saved', { name: title }))) this.#edit(undefined);
    this.#load();
  }

  async #remove({ name, title }: PersonView): Promise<void> {
    this.#askRemoval(undefined);
    const label = text('people.remove_person', { name: title });
    await this.#make({ tool: 'hub:remove_person', params: { name }, label }, text('people.removed', { name: title }));
    this.#load();
  }

  /** Makes a call, and shows `success` once it is done. Returns false if it fails, and true also if it waits for approval. */
  async #make(call: CallRequest, success: string): Promise<boolean> {
    try {
      if ((await this.app.call(call)) !== undefined) this.notify(success);
      return true;
    } catch (error) {
      this.notifyError(error);
      return false;
    }
  }

  /** Shows what a call has answered that had to wait for approval. */
  #approved({ call, result }: CallOutcome): void {
    if (call.tool === INVITE && isJsonObject(result)) void this.#showInvitation(result as unknown as InvitationView);
    this.#load();
  }

  async #end(id: string, device: string): Promise<void> {
    await this.attempt(this.app.hub.delete(`/api/v1/sign-ins/${id}`), text('people.ended', { device }));
    this.#load();
  }

  async #invite({ name, title }: PersonView): Promise<void> {
    const invitation = await this.callTool({ tool: INVITE, params: { name }, label: text('people.invite_person', { name: title }) });
    if (isJsonObject(invitation)) await this.#showInvitation(invitation as unknown as InvitationView);
  }

  async #showInvitation(invitation: InvitationView): Promise<void> {
    try {
      const { hub } = this.app;
      const { url } = await hub.get<{ readonly url?: string }>('/api/v1/tls').catch(() => ({ url: undefined }));
      const page = url !== undefined && isLoopbackName(location.hostname) ? url : location.origin;
      const link = invitationLink(page, invitation);
      const { default: encodeQr } = await hub.part(() => import('qr'));
      this.#show({
        ...invitation,
        link,
        isReachable: !isLoopbackName(new URL(page).hostname),
        squares: encodeQr(link, 'raw', { ecc: 'low', border: 2 }),
      });
    } catch (error) {
      this.notifyError(error);
    }
  }
}

function qrPicture(squares: OpenInvitation['squares']): TemplateResult {
  const path = squares.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('');
  return html`<svg class="qr" viewBox="0 0 ${squares.length} ${squares.length}" role="img" aria-label=${text('people.qr')} shape-rendering="crispEdges">
    ${svg`<rect width="100%" height="100%" fill="#fff"></rect><path d=${path} fill="#000"></path>`}</svg>`;
}

function shortTime(time: string): string {
  return new Date(time).toLocaleString(languageTag(), { dateStyle: 'medium', timeStyle: 'short' });
}

customElements.define('atmo-page-people', PeoplePage);
