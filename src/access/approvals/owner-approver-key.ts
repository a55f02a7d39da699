import { join } from 'node:path';
import type { Logger } from '../../core/logger.ts';
import type { Service } from '../../core/service.ts';
import type { OnRepaired } from '../../core/storage/kept-file.ts';
import { rawPublicKey } from '../../wire/ed25519-key.ts';
import { openKeyFile } from '../keys/key-file.ts';
import type { ApproverRegistry } from './approver-registry.ts';

const OWNER_KEY_FILE = 'owner.key';
const PERSON = 'owner';

interface OwnerKeyCollaborators {
  readonly approvers: ApproverRegistry;
  readonly logger: Logger;
  readonly onRepaired: OnRepaired;
}

/**
 * The owner's approver key: a private Ed25519 key in `owner.key` (0600), made and enrolled for the person `owner` at the
 * first start. The hub keeps only the public half; the CLI of the same user signs with the file. A lost file is replaced
 * as long as the owner is an approver: who can delete it could also have read it.
 */
export class OwnerApproverKey implements Service {
  readonly #approvers: ApproverRegistry;
  readonly #logger: Logger;
  readonly #onRepaired: OnRepaired;
  readonly #path: string;

  constructor({ approvers, logger, onRepaired }: OwnerKeyCollaborators, stateDirectory: string) {
    this.#approvers = approvers;
    this.#logger = logger;
    this.#onRepaired = onRepaired;
    this.#path = join(stateDirectory, OWNER_KEY_FILE);
  }

  /**
   * STORAGE_FAILED when the file is readable by others or holds something else. A crash at any step leaves what the next
   * start completes: there is always an approver, and the owner, while one of them, signs with the key of the file.
   */
  async start(): Promise<void> {
    const key = rawPublicKey(openKeyFile({ path: this.#path, endsWithIt: "the owner's say in approvals", onRepaired: this.#onRepaired }));
    const lost = this.#approvers.keysOf(PERSON).filter((known) => known.label === OWNER_KEY_FILE && known.key !== key);
    if (this.#approvers.list().length === 0 || lost.length > 0) await this.#enrol(key);
    for (const { keyId } of lost) {
      await this.#approvers.remove(keyId);
      this.#logger.warn('approver.owner_key_replaced', { key_id: keyId });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #enrol(key: string): Promise<void> {
    if (this.#approvers.list().some((known) => known.key === key)) return;
    await this.#approvers.enrol({ person: PERSON, key, label: OWNER_KEY_FILE });
  }
}
