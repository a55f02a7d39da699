import type { ApproverDirectory, OfferedKey } from '../../core/auth/approvals.ts';
import type { PeopleAdministration } from '../../core/auth/people.ts';
import { AtmoError } from '../../core/errors.ts';
import type { JsonObject } from '../../core/json.ts';
import { defineTool, p, resultSchema, TEXT } from '../definition/define-tool.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { HUB_ACTS, HUB_READS } from './hub-tool.ts';

const APPROVALS_PERMISSION = 'admin:approvals';
const FOR_APPROVALS = { permissions: [APPROVALS_PERMISSION] } as const;
const BASE64URL = '^[A-Za-z0-9_-]+$';
const keyIdParameter = p.string({ description: 'Id of the key, as list_offered_keys tells it', pattern: '^[0-9a-f]{16}$' });
const OFFER = resultSchema({ person: TEXT, key_id: TEXT, label: TEXT, kind: { enum: ['key', 'passkey'] }, offered_at: TEXT });

interface ApproverKeyPorts {
  readonly people: Pick<PeopleAdministration, 'offerKey' | 'personOf' | 'signInOf'>;
  readonly approvers: Pick<ApproverDirectory, 'offers' | 'confirm' | 'refuseOffer'>;
}

/**
 * Returns the tools with which a person offers a key of a device to approve with. The key counts when an approver has compared its id on
 * both screens and confirmed it, which is a dangerous call and so needs the approver's signature.
 */
export function approverKeyTools({ people, approvers }: ApproverKeyPorts): readonly RegisteredTool[] {
  return [listTool(approvers), offerTool(people), confirmTool(approvers), refuseTool(approvers)];
}

function listTool(approvers: ApproverKeyPorts['approvers']): RegisteredTool {
  return defineTool(
    {
      ...HUB_READS,
      ...FOR_APPROVALS,
      name: 'list_offered_keys',
      title: 'List keys that wait to be confirmed',
      description: 'Lists the keys with which persons want to approve, for a week after they were offered.',
      parameters: {},
      returns: resultSchema({ keys: { type: 'array', items: OFFER } }),
    },
    async () => ({ keys: approvers.offers().map(offerJson) }),
  );
}

function offerTool(people: ApproverKeyPorts['people']): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_APPROVALS,
      name: 'offer_approver_key',
      title: 'Offer a key to approve with',
      description:
        'Offers a key or passkey of the calling person. It counts when an approver has compared the key id on both screens and confirmed it.',
      parameters: {
        label: p.string({ description: 'Which device it is, such as phone', maxLength: 64, default: '', isGivenName: true }),
        key: p.string({ description: 'Raw public key, Ed25519 or P-256, base64url', pattern: BASE64URL, maxLength: 87 }).optional(),
        passkey: p
          .object(
            {
              challenge: p.string({ description: 'Challenge of POST /api/v1/sign-ins/challenge', maxLength: 128 }),
              credential_id: p.string({ description: 'Id of the credential', pattern: BASE64URL, maxLength: 1_400 }),
              client_data: p.string({ description: 'clientDataJSON', pattern: BASE64URL, maxLength: 4_096 }),
              authenticator_data: p.string({ description: 'Authenticator data of the registration', pattern: BASE64URL, maxLength: 4_096 }),
            },
            { description: 'A new passkey as the browser returned it, in base64url' },
          )
          .optional(),
      },
      returns: OFFER,
    },
    async ({ label, key, passkey }, { principal }) => {
      const person = people.personOf(principal);
      if (!person) throw new AtmoError('PERMISSION_DENIED', 'Only a person of the household can offer a key; sign in as one');
      if ((key === undefined) === (passkey === undefined)) throw new AtmoError('VALIDATION_ERROR', 'Give either a key or a passkey');
      const registration = passkey && {
        challenge: passkey.challenge,
        credentialId: passkey.credential_id,
        clientData: passkey.client_data,
        authenticatorData: passkey.authenticator_data,
      };
      const signIn = people.signInOf(principal);
      const given = { label, ...(signIn !== undefined && { signIn }), ...(key !== undefined && { key }) };
      return offerJson(await people.offerKey(person.name, { ...given, ...(registration && { passkey: registration }) }));
    },
  );
}

function confirmTool(approvers: ApproverKeyPorts['approvers']): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_APPROVALS,
      name: 'confirm_approver_key',
      title: 'Let a key approve dangerous calls',
      description: 'Enrols an offered key after its id was compared on both screens; its signatures approve dangerous calls from now on.',
      isDangerous: true,
      // A rule that lets two persons enrol an approver was often written before keys could be offered.
      ruledLike: ['enroll_approver'],
      parameters: { key_id: keyIdParameter },
      // The target contains the person's name, because approvers would not recognise a key by its id alone.
      effects: ({ key_id: id }) => {
        const person = approvers.offers().find(({ keyId }) => keyId === id)?.person;
        return [
          { permission: APPROVALS_PERMISSION, risk: 'dangerous', target: person ? `approver/${person}/${id}` : `approver-key/${id}` },
        ];
      },
      returns: resultSchema({ person: TEXT, key_id: TEXT, label: TEXT, enrolled_at: TEXT }),
    },
    async ({ key_id: id }) => {
      const { person, keyId, label, enrolledAt } = await approvers.confirm(id);
      return { person, key_id: keyId, label, enrolled_at: enrolledAt };
    },
  );
}

function refuseTool(approvers: ApproverKeyPorts['approvers']): RegisteredTool {
  return defineTool(
    {
      ...HUB_ACTS,
      ...FOR_APPROVALS,
      name: 'refuse_approver_key',
      title: 'Refuse a key that waits to be confirmed',
      description: 'Drops an offered key, for example because its id differs on the two screens.',
      isDestructive: true,
      parameters: { key_id: keyIdParameter },
      returns: OFFER,
    },
    async ({ key_id: id }) => offerJson(await approvers.refuseOffer(id)),
  );
}

function offerJson({ person, keyId, label, passkey, offeredAt }: OfferedKey): JsonObject {
  return { person, key_id: keyId, label, kind: passkey ? 'passkey' : 'key', offered_at: offeredAt };
}
