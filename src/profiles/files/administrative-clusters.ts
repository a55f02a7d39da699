/** Clusters that configure, name or diagnose the node itself. */
const OF_OWN_NODE = [
  'AdministratorCommissioning',
  'BasicInformation',
  'BridgedDeviceBasicInformation',
  'Descriptor',
  'DiagnosticLogs',
  'EthernetNetworkDiagnostics',
  'FixedLabel',
  'GeneralCommissioning',
  'GeneralDiagnostics',
  'Groups',
  'IcdManagement',
  'Identify',
  'Label',
  'LocalizationConfiguration',
  'NetworkCommissioning',
  'OtaSoftwareUpdateProvider',
  'PowerSourceConfiguration',
  'PowerTopology',
  'SoftwareDiagnostics',
  'TimeFormatLocalization',
  'TimeSynchronization',
  'TlsCertificateManagement',
  'TlsClientManagement',
  'UnitLocalization',
  'UserLabel',
  'WiFiNetworkDiagnostics',
  'WiFiNetworkManagement',
];
/** Clusters whose attributes describe other devices: bound devices, and devices of the same group, fabric or network. */
const OF_OTHER_DEVICES = [
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
];
const ADMINISTRATIVE: ReadonlySet<string> = new Set([...OF_OWN_NODE, ...OF_OTHER_DEVICES]);

/**
 * Returns whether a cluster administers the node. Such a cluster makes no device tools; only the hub's own tools use it, with the
 * permission `admin:device:<id>`.
 */
export function isAdministrative(cluster: string): boolean {
  return ADMINISTRATIVE.has(cluster);
}

/** Returns whether reading the cluster needs more than the permission to read its device. */
export function describesOtherDevices(cluster: string): boolean {
  return OF_OTHER_DEVICES.includes(cluster);
}
