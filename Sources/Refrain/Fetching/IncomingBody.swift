// SPDX-License-Identifier: MIT
import Foundation

/// The body of a response as it arrives. Received bytes can be read again from the file that stores
/// them: a fetch that continues in another generation begins with these.
final class IncomingBody {
  private var iterator: any AsyncIteratorProtocol<Data, any Error>
  private var kept: (file: EntryFile, range: ByteRange)?
  private var returned: Data?
  /// Whether the last returned bytes had been received before.
  private(set) var isReplaying = false
  /// Whether the origin has sent something of it.
  private(set) var hasBegun = false

  private static let step: Int64 = 256 << 10

  init(_ response: OriginExchange.Response) {
    iterator = response.body.makeAsyncIterator()
  }

  /// Restarts the body: first the part that a file stores, then the chunk after that.
  func replay(_ range: ByteRange, of file: EntryFile, then chunk: Data) {
    kept = (file, range)
    returned = chunk
  }

  /// Returns the next bytes; nil at the end. Blocks while it reads the file.
  func next() async throws -> Data? {
    isReplaying = kept != nil || returned != nil
    if let (file, range) = kept, !range.isEmpty {
      let end = min(range.lowerBound + Self.step, range.upperBound)
      var bytes = Data(count: Int(end - range.lowerBound))
      let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: range.lowerBound) }
      guard count == bytes.count else {
        throw TransportError(
          .connectionLost, "The stored file became shorter while it was read (\(file.path)).")
      }
      kept = (file, end..<range.upperBound)
      return bytes
    }
    kept = nil
    if let chunk = returned {
      returned = nil
      return chunk
    }
    let chunk = try await iterator.next(isolation: nil)
    hasBegun = true
    return chunk
  }
}
