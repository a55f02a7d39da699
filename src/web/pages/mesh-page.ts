import { html, nothing, type TemplateResult } from 'lit';
import type { Json } from '../../core/json.ts';
import type { CallRequest } from '../app.ts';
import { modalDialog } from '../components/dialog.ts';
import { formValues } from '../components/form-values.ts';
import { timeWords } from '../components/formatting.ts';
import { icon } from '../components/icon.ts';
import type { Stop } from '../components/light-element.ts';
import { PageElement } from '../components/page-element.ts';
import { RemoteData, remoteDataView } from '../components/remote-data.ts';
import { text, textWith } from '../texts/text.ts';
import { linkWords, type MeshPeer, type MeshStatus, meshMap } from './mesh-map.ts';

interface Invite {
  readonly invite: string;
  readonly expires_at: string;
}

/** Page about the hubs of the mesh. It shows how each hub is reached, and has forms to join a mesh, to invite a hub and to revoke one. */
export class MeshPage extends PageElement {
  readonly #status = new RemoteData<MeshStatus>(() => this.requestUpdate());
  #invite: Invite | undefined;
  #leaving: MeshPeer | undefined;
  #isBusy = false;

  protected override connected(): readonly Stop[] {
    this.#load();
    this.#invite = undefined;
    const stop = this.app.store.onEvent(({ type }) => {
      if (type === 'mesh.changed' || type === 'peer.changed') this.#load();
    });
    return [...super.connected(), stop];
  }

  protected override render(): TemplateResult {
    return html`
      <header class="page-head"><h1>${text('mesh.title')}</h1><p>${text('mesh.about')}</p></header>
      ${remoteDataView(this.#status, (status) => (status.state === 'member' ? this.#member(status) : this.#stranger(status)))}
      ${this.#leaving ? this.#revokeDialog(this.#leaving) : nothing}
    `;
  }

  #member(status: MeshStatus): TemplateResult {
    return html`<div class="stack">
      <section class="card" aria-labelledby="map-title">
        <h2 id="map-title">${status.name ?? text('mesh.title')}</h2>
        ${meshMap(status)}
        ${status.peers.length === 0 ? html`<p class="quiet center">${text('mesh.alone')}</p>` : nothing}
        <ul class="hubs">${status.peers.map((peer) => this.#peer(peer, status))}</ul>
      </section>
      ${status.roles?.includes('inviter') || status.has_root_key ? this.#inviteCard(status) : nothing}
    </div>`;
  }

  #peer(peer: MeshPeer, status: MeshStatus): TemplateResult {
    const { name, reachable, version, tools, devices, address, last_seen: seen } = peer;
    return html`<li class="row">
      <span class="dot ${reachable ? 'good' : 'bad'}" aria-hidden="true"></span>
      <span class="grow"><strong><bdi>${name}</bdi></strong> <span class="quiet">${linkWords(peer)}</span><br />
        <span class="quiet small">${text('mesh.tools', { count: tools })}, ${text('mesh.devices', { count: devices })}, ${text('mesh.version', { version })}${address === undefined ? nothing : html`, <bdi>${address}</bdi>`},
          ${textWith('mesh.heard', { time: html`<time datetime=${seen}>${timeWords(seen)}</time>` })}</span></span>
      ${
        status.has_root_key
          ? html`<button type="button" class="button small danger plain" aria-label=${text('mesh.revoke_thing', { name })} @click=${() => this.#show(peer)}>${text('mesh.revoke')}</button>`
          : nothing
      }
    </li>`;
  }

  #inviteCard({ open_invites: open }: MeshStatus): TemplateResult {
    const invite = this.#invite;
    return html`<section class="card stack" aria-labelledby="invite-title">
      <h2 id="invite-title">${text('mesh.invite_title')}</h2>
      <p class="quiet">${text('mesh.invite_about')} ${open > 0 ? text('mesh.invites_open', { count: open }) : nothing}</p>
      ${
        invite === undefined
          ? html`<p><button type="button" class="button primary" ?disabled=${this.#isBusy} @click=${() => this.#makeInvite()}>${icon('plus')}${text('mesh.invite_make')}</button></p>`
          : html`${this.copyable(invite.invite, text('mesh.invite'))}
              <p class="quiet">${textWith('mesh.invite_use', { command: html`<code>atmo mesh join</code>`, time: timeWords(invite.expires_at) })}</p>`
      }
    </section>`;
  }

  #stranger({ state }: MeshStatus): TemplateResult {
    return html`<div class="stack">
      <p>${state === 'member' ? nothing : text(`mesh.state_${state}`)}</p>
      <div class="columns">
      <form class="card stack" @submit=${(event: SubmitEvent) => this.#create(event)}>
        <h2>${text('mesh.make')}</h2>
        <label class="field"><span class="label">${text('mesh.name')}</span><input name="name" maxlength="64" autocomplete="off" /></label>
        <label class="field"><span class="label">${text('mesh.passphrase')}</span><input name="passphrase" type="password" minlength="10" required autocomplete="new-password" />
          <span class="help">${text('mesh.passphrase_help')}</span></label>
        <button class="button primary" ?disabled=${this.#isBusy}>${text('mesh.make_it')}</button>
      </form>
      <form class="card stack" @submit=${(event: SubmitEvent) => this.#join(event)}>
        <h2>${text('mesh.join')}</h2>
        <label class="field"><span class="label">${text('mesh.invite')}</span><textarea name="invite" rows="4" required placeholder="atmo-join1.…" spellcheck="false"></textarea>
          <span class="help">${text('mesh.invite_help')}</span></label>
        <button class="button primary" ?disabled=${this.#isBusy}>${text('mesh.join_it')}</button>
      </form>
      </div>
    </div>`;
  }

  #revokeDialog(peer: MeshPeer): TemplateResult {
    const content = html`
      <form class="stack" @submit=${(event: SubmitEvent) => this.#revoke(event, peer)}>
        <p>${text('mesh.revoke_about')}</p>
        <label class="field"><span class="label">${text('mesh.root_passphrase')}</span><input name="passphrase" type="password" autocomplete="off" />
          <span class="help">${text('mesh.root_help')}</span></label>
        <footer><button class="button danger" ?disabled=${this.#isBusy}>${textWith('mesh.revoke_thing', { name: html`<bdi>${peer.name}</bdi>` })}</button></footer>
      </form>`;
    return modalDialog({ title: text('mesh.revoke_title', { name: peer.name }), onClose: () => this.#show(undefined) }, content);
  }

  #show(peer: MeshPeer | undefined): void {
    this.#leaving = peer;
    this.requestUpdate();
  }

  #load(): void {
    void this.#status.load(() => this.app.hub.get<MeshStatus>('/api/v1/mesh'));
  }

  #makeInvite(): void {
    void this.#act({ tool: 'hub:mesh_invite', label: text('mesh.invite_title') }, text('mesh.invite_ready')).then((answer) => {
      this.#invite = answer as unknown as Invite | undefined;
      this.requestUpdate();
    });
  }

  #create(event: SubmitEvent): void {
    const { name, passphrase = '' } = formValues(event);
    const call = { tool: 'hub:mesh_create', params: { passphrase, ...(name && { name }) }, label: text('mesh.make') };
    void this.#act(call, text('mesh.made'));
  }

  #join(event: SubmitEvent): void {
    const call = { tool: 'hub:mesh_join', params: { invite: formValues(event).invite ?? '' }, label: text('mesh.join') };
    void this.#act(call, text('mesh.joined'));
  }

  #revoke(event: SubmitEvent, peer: MeshPeer): void {
    const { passphrase } = formValues(event);
    this.#show(undefined);
    const params = { hub: peer.id, ...(passphrase && { passphrase }) };
    void this.#act(
      { tool: 'hub:mesh_revoke', params, label: text('mesh.revoke_thing', { name: peer.name }) },
      text('mesh.revoked', { name: peer.name }),
    );
  }

  /**
   * Calls an administration tool and returns its result. Returns undefined if the call fails or waits for approval. Always shows a notice.
   */
  async #act(call: CallRequest, success: string): Promise<Json | undefined> {
    this.#isBusy = true;
    this.requestUpdate();
    try {
      const answer = await this.app.call(call);
      if (answer === undefined) this.notify(text('mesh.approve_first'), 'plain');
      else this.notify(success);
      return answer;
    } catch (error) {
      this.notifyError(error);
      return undefined;
    } finally {
      this.#isBusy = false;
      this.#load();
    }
  }
}

customElements.define('atmo-page-mesh', MeshPage);
