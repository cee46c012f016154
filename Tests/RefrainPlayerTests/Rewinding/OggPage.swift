// SPDX-License-Identifier: MIT
import Foundation

/// A page of a stream with one packet, which goes on in the next page if its length is a multiple of 255.
func oggPage(
  _ granule: Int64, begins: Bool = false, of serial: UInt8 = 0, _ packet: [UInt8]
) -> Data {
  var data = Data("OggS".utf8)
  data.append(contentsOf: [0, begins ? 2 : 0])
  withUnsafeBytes(of: granule.littleEndian) { data.append(contentsOf: $0) }
  data.append(contentsOf: [serial] + [UInt8](repeating: 0, count: 11))
  let (whole, rest) = packet.count.quotientAndRemainder(dividingBy: 255)
  let lacing = [UInt8](repeating: 255, count: whole) + (rest > 0 ? [UInt8(rest)] : [])
  data.append(UInt8(lacing.count))
  data.append(contentsOf: lacing + packet)
  return data
}
