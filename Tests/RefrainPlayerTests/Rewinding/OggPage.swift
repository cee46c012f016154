// SPDX-License-Identifier: MIT
import Foundation

/// A page with one packet, which goes on in the next page if its length is a multiple of 255.
func oggPage(_ granule: Int64, begins: Bool = false, _ packet: [UInt8]) -> Data {
  var data = Data("OggS".utf8)
  data.append(contentsOf: [0, begins ? 2 : 0])
  withUnsafeBytes(of: granule.littleEndian) { data.append(contentsOf: $0) }
  data.append(Data(count: 12))
  let (whole, rest) = packet.count.quotientAndRemainder(dividingBy: 255)
  let lacing = [UInt8](repeating: 255, count: whole) + (rest > 0 ? [UInt8(rest)] : [])
  data.append(UInt8(lacing.count))
  data.append(contentsOf: lacing + packet)
  return data
}
