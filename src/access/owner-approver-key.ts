import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from '../core/logger.ts';
import type { Service } from '../core/service.ts';
import type { ApproverRegistry } from './approver-registry.ts';
import { rawPublicKey } from './ed25519-key.ts';
import { openKeyFile } from './key-file.ts';

const OWNER_KEY_FILE = 'owner.key';
const PERSON = 'owner';

interface OwnerKeyCollaborators {
  readonly approvers: ApproverRegistry;
  readonly logger: Logger;
}

/**
 * The owner's approver key: a private Ed25519 key in `owner.key` (0600), made and enrolled for the person `owner` at the
 * first start. The hub keeps only the public half; the CLI of the same user signs with the file. A lost file is replaced
 * as long as the owner is an approver: who can delete it could also have read it.
 */
export class OwnerApproverKey implements Service {
  readonly #approvers: ApproverRegistry;
  readonly #logger: Logger;
  readonly #path: string;

  constructor({ approvers, logger }: OwnerKeyCollaborators, stateDirectory: string) {
    this.#approvers = approvers;
    this.#logger = logger;
    this.#path = join(stateDirectory, OWNER_KEY_FILE);
  }

  /** STORAGE_FAILED when the file is readable by others or holds something else. */
  async start(): Promise<void> {
    const isFirstStart = this.#approvers.lastSerial === 0;
    const isLost = !existsSync(this.#path) && this.#approvers.keysOf(PERSON).length > 0;
    const key = rawPublicKey(openKeyFile({ path: this.#path, endsWithIt: "the owner's say in approvals" }));
    if (isFirstStart) await this.#approvers.enrol({ person: PERSON, key, label: OWNER_KEY_FILE });
    if (isLost) await this.#replace(key);
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #replace(key: string): Promise<void> {
    const lost = this.#approvers.keysOf(PERSON).filter(({ label }) => label === OWNER_KEY_FILE);
    for (const { keyId } of lost.slice(0, 1)) this.#logger.warn('approver.owner_key_lost', { key_id: keyId });
    const { keyId } = await this.#approvers.enrol({ person: PERSON, key, label: OWNER_KEY_FILE });
    for (const old of lost) await this.#approvers.remove(old.keyId);
    this.#logger.warn('approver.owner_key_replaced', { key_id: keyId });
  }
}
