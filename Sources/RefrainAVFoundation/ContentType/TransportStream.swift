// SPDX-License-Identifier: MIT

/// MPEG-2 transport streams (ISO/IEC 13818-1 §2.4.3.2): packets of 188 bytes that begin with 0x47;
/// on Blu-ray and AVCHD, a time of four bytes precedes each.
enum TransportStream {
  /// The number of packets that have to match: three match by chance in one of 16 million cases.
  private static let packets = 4

  static func type(_ bytes: FirstBytes) -> String? {
    if isStream(bytes, packet: 188, sync: 0) { return UTI.transportStream }
    return isStream(bytes, packet: 192, sync: 4) ? UTI.avchd : nil
  }

  private static func isStream(_ bytes: FirstBytes, packet: Int, sync: Int) -> Bool {
    (0..<packets).allSatisfy { index in
      let start = index * packet + sync
      // `adaptation_field_control` of 00 is reserved.
      return bytes[start] == 0x47 && bytes[start + 3].map { $0 & 0x30 != 0 } == true
    }
  }
}
