import { html, nothing, type TemplateResult } from 'lit';
import { messageOf } from '../api/hub-client.ts';
import { browserName } from '../api/installation.ts';
import { keyIdOf, makeSigningKey } from '../api/signing-key.ts';
import type { App } from '../app.ts';
import { formValues } from '../components/form-values.ts';
import { icon } from '../components/icon.ts';
import { every, LightElement, type Stop } from '../components/light-element.ts';
import { text, textWith } from '../texts/text.ts';
import { type CallerView, fingerprint, type OfferedKeyView } from './people.ts';

const POLL_MS = 3_000;

interface Approver {
  readonly person: string;
  readonly key: string;
  readonly key_id: string;
}

/** Card that shows whether this browser can sign decisions. If it cannot, a person can make a key here, which an approver then confirms. */
export class BrowserKeyCard extends LightElement {
  static override properties = {
    app: { attribute: false },
    approvers: { state: true },
    offers: { state: true },
    ownKey: { state: true },
    ownKeyId: { state: true },
    problem: { state: true },
  };
  declare app: App;
  /** The approvers; undefined if the hub has not returned them. */
  declare approvers: readonly Approver[] | undefined;
  declare offers: readonly OfferedKeyView[];
  declare ownKey: string | undefined;
  declare ownKeyId: string | undefined;
  declare problem: string | undefined;

  protected override connected(): readonly Stop[] {
    const { calls, session, store } = this.app;
    const load = () => void this.#load();
    load();
    // A key is enrolled only when the approved call has ended, so the list is loaded again after each call.
    const stop = store.onEvent(({ type }) => type === 'approval.decided' && load());
    // An offered key is confirmed in another browser, which no event says.
    const poll = every(POLL_MS, () => this.offers?.length > 0 && load());
    return [session.subscribe(load), calls.subscribe(load), calls.onEnd(load), stop, poll];
  }

  protected override render(): TemplateResult | typeof nothing {
    const { approvers } = this;
    if (!approvers) return nothing;
    const own = approvers.find((approver) => this.#isOwn(approver));
    if (own)
      return html`<p class="quiet row">${icon('key')}<span>${textWith('people.signs_as', { name: html`<strong>${own.person}</strong>` })}</span></p>`;
    const offer = this.offers?.find((one) => this.#isOwnId(one.key_id));
    return html`<section class="card" aria-label=${text('people.approve_here')}>
      <h2>${text('people.approve_here')}</h2>
      ${offer ? this.#offered(offer) : this.ownKey === undefined || this.app.session.login?.signIn ? this.#form() : this.#waiting()}
      ${this.problem === undefined ? nothing : html`<p class="alert" role="alert">${icon('warning')}${this.problem}</p>`}
    </section>`;
  }

  #isOwn({ key, key_id: id }: Approver): boolean {
    return key === this.ownKey || this.#isOwnId(id);
  }

  #isOwnId(id: string): boolean {
    return id === this.app.session.login?.passkey?.keyId || id === this.ownKeyId;
  }

  #form(): TemplateResult {
    const isPerson = this.app.session.login?.signIn !== undefined;
    return html`<p class="quiet">${text('people.approve_help')}</p>
      <form class="key-form" @submit=${(event: SubmitEvent) => void (isPerson ? this.#offerKey(event) : this.#enrol(event))}>
        ${
          isPerson
            ? nothing
            : html`<label class="field"><span class="label">${text('people.your_name')}</span>
                <input name="person" required pattern="[a-z0-9][a-z0-9_.\\-]{0,31}" autocomplete="username" autocapitalize="none" placeholder=${text('people.name_example')} />
                <span class="help">${text('people.name_help')}</span></label>`
        }
        <label class="field"><span class="label">${text('people.this_device')}</span><input name="label" maxlength="64" /></label>
        <button type="submit" class="button primary">${icon('key')}${text('people.let_approve')}</button>
      </form>`;
  }

  #offered({ key_id: id }: OfferedKeyView): TemplateResult {
    return html`<p>${text('people.compare_here')}</p><p><strong><code>${fingerprint(id)}</code></strong></p>`;
  }

  #waiting(): TemplateResult {
    const call = this.app.calls.all.find(({ tool }) => tool.includes('enroll_approver'));
    const command = call ? html`<pre><code>atmo approve ${call.approvalId}</code></pre>` : nothing;
    return html`<p>${textWith(call ? 'people.key_waits' : 'people.key_not_enrolled', { key: html`<code>${this.ownKey}</code>` })}</p>${command}
      ${call ? nothing : html`<button type="button" class="button" @click=${() => void this.#enrolKey()}>${text('people.ask_again')}</button>`}`;
  }

  /** Offers a passkey where the browser can make one, and otherwise the key with which this browser is signed in. */
  async #offerKey(event: SubmitEvent): Promise<void> {
    const { label = '' } = formValues(event);
    this.problem = undefined;
    try {
      if (!(await this.#offerPasskey(label))) await this.#offerSignInKey(label);
    } catch (error) {
      this.problem = messageOf(error);
    }
    await this.#load();
  }

  /** Returns false if the browser makes no passkey here, for example since it does not trust the certificate. */
  async #offerPasskey(label: string): Promise<boolean> {
    const { hub, session } = this.app;
    const { mayHavePasskeys, makePasskey } = await hub.part(() => import('../api/passkey.ts'));
    if (!mayHavePasskeys()) return false;
    const { person } = await hub.get<CallerView>('/api/v1/me');
    if (!person) return false;
    const { challenge } = await hub.post<{ readonly challenge: string }>('/api/v1/sign-ins/challenge');
    const passkey = await makePasskey(person, challenge).catch(() => undefined);
    if (!passkey) return false;
    const { key_id: keyId } = await hub.post<OfferedKeyView>('/api/v1/approver-keys', { label, passkey });
    await session.keepPasskey(person.name, { credentialId: String(passkey.credential_id), keyId });
    return true;
  }

  async #offerSignInKey(label: string): Promise<void> {
    const { hub, session } = this.app;
    const { person, signIn } = session.login ?? {};
    if (!signIn || person === undefined) return;
    await hub.post('/api/v1/approver-keys', { label, key: signIn.key.publicKey });
    await session.keepKey(person, signIn.key);
  }

  async #enrol(event: SubmitEvent): Promise<void> {
    const { person = '', label } = formValues(event);
    await this.app.session.keepKey(person, await makeSigningKey());
    await this.#load();
    await this.#enrolKey(label || undefined);
  }

  /** Calls the tool that enrols this browser's key. The call waits for approval, and is repeated when it is approved. */
  async #enrolKey(label = browserName(navigator)): Promise<void> {
    const person = this.app.session.login?.person;
    if (person === undefined || this.ownKey === undefined) return;
    this.problem = undefined;
    try {
      await this.app.call({
        tool: 'hub:enroll_approver',
        params: { person, key: this.ownKey, label },
        label: text('people.let_person_approve', { name: person }),
      });
    } catch (error) {
      this.problem = messageOf(error);
    }
    await this.#load();
  }

  async #load(): Promise<void> {
    const { hub, session } = this.app;
    const key = session.login?.key;
    const signing = key !== undefined && (await hub.part(() => import('../api/approval-signature.ts')));
    this.ownKey = signing ? await signing.publicKeyOf(key) : undefined;
    this.ownKeyId = this.ownKey === undefined ? undefined : await keyIdOf(this.ownKey);
    // Without the permission to read the approvers, these requests fail and the card is hidden.
    const offers = await hub.get<{ readonly keys: readonly OfferedKeyView[] }>('/api/v1/approver-keys').catch(() => undefined);
    this.offers = offers?.keys ?? [];
    const answer = await hub.get<{ readonly approvers: readonly Approver[] }>('/api/v1/approvers').catch(() => undefined);
    this.approvers = answer?.approvers;
  }
}

customElements.define('atmo-browser-key', BrowserKeyCard);
