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
      <header class="page-head"><h1>Mesh</h1><p>Hubs that use each other's tools.</p></header>
      ${remoteDataView(this.#status, (status) => (status.state === 'member' ? this.#member(status) : this.#stranger(status)))}
      ${this.#leaving ? this.#revokeDialog(this.#leaving) : nothing}
    `;
  }

  #member(status: MeshStatus): TemplateResult {
    return html`<div class="stack">
      <section class="card" aria-labelledby="map-title">
        <h2 id="map-title">${status.name ?? 'The mesh'}</h2>
        ${meshMap(status)}
        ${status.peers.length === 0 ? html`<p class="quiet center">No other hub has joined yet. Invite one.</p>` : nothing}
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
        <span class="quiet small">${tools} tools, ${devices} devices, version ${version}${address === undefined ? nothing : html`, <bdi>${address}</bdi>`}, heard of
          <time datetime=${seen}>${timeWords(seen)}</time></span></span>
      ${
        status.has_root_key
          ? html`<button type="button" class="button small danger plain" aria-label="Revoke ${name}" @click=${() => this.#show(peer)}>Revoke</button>`
          : nothing
      }
    </li>`;
  }

  #inviteCard({ open_invites: open }: MeshStatus): TemplateResult {
    const invite = this.#invite;
    return html`<section class="card stack" aria-labelledby="invite-title">
      <h2 id="invite-title">Let another hub in</h2>
      <p class="quiet">An invite is one line with which one hub can join once. ${open > 0 ? `${open} open now.` : nothing}</p>
      ${
        invite === undefined
          ? html`<p><button type="button" class="button primary" ?disabled=${this.#isBusy} @click=${() => this.#makeInvite()}>${icon('plus')}Make an invite</button></p>`
          : html`${this.copyable(invite.invite, 'Invite')}
              <p class="quiet">Run <code>atmo mesh join</code> with it on the other hub, or paste it into its Mesh page, before
                ${timeWords(invite.expires_at)}. Whoever has it can use it.</p>`
      }
    </section>`;
  }

  #stranger({ state }: MeshStatus): TemplateResult {
    const why = {
      none: 'This hub is in no mesh.',
      expired: 'The membership of this hub has ended.',
      revoked: 'This hub was put out of its mesh.',
    };
    return html`<div class="stack">
      <p>${state === 'member' ? nothing : why[state]}</p>
      <div class="columns">
      <form class="card stack" @submit=${(event: SubmitEvent) => this.#create(event)}>
        <h2>Make a mesh</h2>
        <label class="field"><span class="label">Name</span><input name="name" maxlength="64" autocomplete="off" /></label>
        <label class="field"><span class="label">Passphrase</span><input name="passphrase" type="password" minlength="10" required autocomplete="new-password" />
          <span class="help">Seals the root key. Nobody can recover it; five words that nobody guesses are good.</span></label>
        <button class="button primary" ?disabled=${this.#isBusy}>Make it</button>
      </form>
      <form class="card stack" @submit=${(event: SubmitEvent) => this.#join(event)}>
        <h2>Join a mesh</h2>
        <label class="field"><span class="label">Invite</span><textarea name="invite" rows="4" required placeholder="atmo-join1.…" spellcheck="false"></textarea>
          <span class="help">The whole line, as another hub made it.</span></label>
        <button class="button primary" ?disabled=${this.#isBusy}>Join</button>
      </form>
      </div>
    </div>`;
  }

  #revokeDialog(peer: MeshPeer): TemplateResult {
    const content = html`
      <form class="stack" @submit=${(event: SubmitEvent) => this.#revoke(event, peer)}>
        <p>Its membership ends for good, on every hub. To come back it needs a new invite.</p>
        <label class="field"><span class="label">Passphrase of the root key</span><input name="passphrase" type="password" autocomplete="off" />
          <span class="help">Only for a hub that may let others in.</span></label>
        <footer><button class="button danger" ?disabled=${this.#isBusy}>Revoke <bdi>${peer.name}</bdi></button></footer>
      </form>`;
    return modalDialog({ title: `Revoke ${peer.name}?`, onClose: () => this.#show(undefined) }, content);
  }

  #show(peer: MeshPeer | undefined): void {
    this.#leaving = peer;
    this.requestUpdate();
  }

  #load(): void {
    void this.#status.load(() => this.app.hub.get<MeshStatus>('/api/v1/mesh'));
  }

  #makeInvite(): void {
    void this.#act({ tool: 'hub:mesh_invite', label: 'Invite a hub' }, 'The invite is ready.').then((answer) => {
      this.#invite = answer as unknown as Invite | undefined;
      this.requestUpdate();
    });
  }

  #create(event: SubmitEvent): void {
    const { name, passphrase = '' } = formValues(event);
    const call = { tool: 'hub:mesh_create', params: { passphrase, ...(name && { name }) }, label: 'Make a mesh' };
    void this.#act(call, 'The mesh is made. Export its root key to a safe place: atmo mesh export-root FILE');
  }

  #join(event: SubmitEvent): void {
    const call = { tool: 'hub:mesh_join', params: { invite: formValues(event).invite ?? '' }, label: 'Join a mesh' };
    void this.#act(call, 'This hub is a member now.');
  }

  #revoke(event: SubmitEvent, peer: MeshPeer): void {
    const { passphrase } = formValues(event);
    this.#show(undefined);
    const params = { hub: peer.id, ...(passphrase && { passphrase }) };
    void this.#act({ tool: 'hub:mesh_revoke', params, label: `Revoke ${peer.name}` }, `${peer.name} is no member any more.`);
  }

  /**
   * Calls an administration tool and returns its result. Returns undefined if the call fails or waits for approval. Always shows a notice.
   */
  async #act(call: CallRequest, success: string): Promise<Json | undefined> {
    this.#isBusy = true;
    this.requestUpdate();
    try {
      const answer = await this.app.call(call);
      if (answer === undefined) this.notify('Somebody has to approve this first: see Approvals.', 'plain');
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
