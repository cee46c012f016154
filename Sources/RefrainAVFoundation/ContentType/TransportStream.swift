// SPDX-License-Identifier: MIT

/// MPEG-2 transport streams (ISO/IEC 13818-1 §2.4.3.2): packets of 188 bytes that begin with 0x47;
/// on Blu-ray and AVCHD with four bytes of time before each.
enum TransportStream {
  /// Packets that have to be there: three agree by chance in one of 16 million.
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
