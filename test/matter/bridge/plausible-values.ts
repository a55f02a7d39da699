import { Metatype, type ValueModel } from '@matter/main/model';

/** What a model says of the values of a field, an attribute or a command. */
type Shape = Pick<ValueModel, 'effectiveMetatype' | 'effectiveConstraint' | 'members'>;

/** Returns a value that a field or attribute may have, as matter.js takes it, so that a command is not refused for its form. */
export function plausibleValue(model: Shape): unknown {
  switch (model.effectiveMetatype) {
    case Metatype.boolean:
      return true;
    case Metatype.integer:
    case Metatype.float:
      return plausibleNumber(model);
    case Metatype.enum:
      // Not the first one, which an attribute often has already: its write would change nothing.
      return [...model.members].slice(0, 2).at(-1)?.id ?? 0;
    case Metatype.bitmap:
      return {};
    case Metatype.string:
      return 'x'.repeat(Math.max(1, minimumOf(model)));
    case Metatype.bytes:
      return new Uint8Array(Math.max(1, minimumOf(model)));
    case Metatype.array:
      return [];
    case Metatype.object:
      return plausibleFields(model);
    default:
      return null;
  }
}

/** Returns values for all members of a structure or command. */
export function plausibleFields(model: Pick<Shape, 'members'>): Record<string, unknown> {
  const members = ([...model.members] as ValueModel[]).filter(({ id }) => id !== FABRIC_INDEX);
  return Object.fromEntries(members.map((one) => [one.propertyName, plausibleValue(one)]));
}

/** The field of each fabric-scoped structure that the node itself fills in (Matter core specification 7.13.7). */
const FABRIC_INDEX = 0xfe;

function plausibleNumber(model: Shape): number {
  const { min } = model.effectiveConstraint;
  return typeof min === 'number' ? Math.max(1, min) : 1;
}

function minimumOf(model: Shape): number {
  const { min, value } = model.effectiveConstraint;
  return [min, value].find((one) => typeof one === 'number') ?? 0;
}
