/**
 * Clusters that set up, name, group or examine a node instead of using it. They make no tools of a device: the hub's own
 * tools use them, with the permission `admin:device:<id>`.
 */
const ADMINISTRATIVE: ReadonlySet<string> = new Set([
  'AccessControl',
  'AdministratorCommissioning',
  'BasicInformation',
  'Binding',
  'BridgedDeviceBasicInformation',
  'CommissionerControl',
  'Descriptor',
  'DiagnosticLogs',
  'EcosystemInformation',
  'EthernetNetworkDiagnostics',
  'FixedLabel',
  'GeneralCommissioning',
  'GeneralDiagnostics',
  'GroupKeyManagement',
  'Groupcast',
  'Groups',
  'IcdManagement',
  'Identify',
  'JointFabricAdministrator',
  'JointFabricDatastore',
  'Label',
  'LocalizationConfiguration',
  'NetworkCommissioning',
  'OperationalCredentials',
  'OtaSoftwareUpdateProvider',
  'OtaSoftwareUpdateRequestor',
  'PowerSourceConfiguration',
  'PowerTopology',
  'SoftwareDiagnostics',
  'ThreadBorderRouterManagement',
  'ThreadNetworkDiagnostics',
  'ThreadNetworkDirectory',
  'TimeFormatLocalization',
  'TimeSynchronization',
  'TlsCertificateManagement',
  'TlsClientManagement',
  'UnitLocalization',
  'UserLabel',
  'WiFiNetworkDiagnostics',
  'WiFiNetworkManagement',
]);

/** True for a cluster that administers the node. */
export function isAdministrative(cluster: string): boolean {
  return ADMINISTRATIVE.has(cluster);
}

/** Clusters whose attributes speak of other devices: whom this one is bound to, shares a group, a fabric or a network with. */
const ABOUT_OTHERS: ReadonlySet<string> = new Set([
  'AccessControl',
  'Binding',
  'CommissionerControl',
  'EcosystemInformation',
  'GroupKeyManagement',
  'Groupcast',
  'JointFabricAdministrator',
  'JointFabricDatastore',
  'OperationalCredentials',
  'OtaSoftwareUpdateRequestor',
  'ThreadBorderRouterManagement',
  'ThreadNetworkDiagnostics',
  'ThreadNetworkDirectory',
]);

/** True for a cluster that nobody may read who is only to know of its own device. */
export function describesOtherDevices(cluster: string): boolean {
  return ABOUT_OTHERS.has(cluster);
}
