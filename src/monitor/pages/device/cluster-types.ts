import type { JsonSchema } from '../../../core/json.ts';

/** What `GET /api/v1/devices/{id}?describe=true` tells of a device's inside, as far as the page shows it. */
export interface EndpointDetail {
  readonly endpoint: number;
  readonly deviceTypes: readonly { readonly name: string }[];
  readonly clusters: readonly ClusterDetail[];
}

/** One cluster with the schemas of what can be read, written and sent. */
export interface ClusterDetail {
  readonly id: number;
  readonly name: string;
  readonly description?: string;
  readonly revision: number;
  readonly features: readonly string[];
  readonly attributes: readonly AttributeDetail[];
  readonly commands: readonly CommandDetail[];
  readonly events: readonly { readonly id: number; readonly name: string }[];
}

export interface AttributeDetail {
  readonly id: number;
  readonly name: string;
  readonly description?: string;
  readonly writable: boolean;
  readonly unit?: string;
  readonly schema: JsonSchema;
}

export interface CommandDetail {
  readonly id: number;
  readonly name: string;
  readonly description?: string;
  readonly parameters: JsonSchema;
}
