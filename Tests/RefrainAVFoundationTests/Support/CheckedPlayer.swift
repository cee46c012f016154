// SPDX-License-Identifier: MIT
#if !canImport(AVFoundation)
  import AVFoundationStandIn
  import Foundation
  import Glibc
  import OriginServer
  import RefrainLocks
  import Testing

  /// Makes requests of an asset as AVFoundation does, and compares every byte that it receives.
  final class CheckedPlayer: Sendable {
    private let held: Mutex<AVURLAsset?>
    let log: AssetLog
    private let bytes: SyntheticBytes
    private let mistakes = Mistakes()

    /// Outlives the player: requests refer to it.
    private final class Mistakes: Sendable {
      let texts = Mutex<[String]>([])
    }

    init(_ asset: AVURLAsset, bytes: SyntheticBytes) {
      held = Mutex(asset)
      log = asset.resourceLoader.standInLog
      self.bytes = bytes
    }

    var asset: AVURLAsset? { held.withLock { $0 } }

    /// Requests `wish` of the asset; throws once the asset has been released.
    func request(_ wish: Wish) throws -> PlayerRequest {
      try #require(asset).standInRequest(wish) { [bytes, mistakes] offset, data in
        let expected = bytes.bytes(in: offset..<offset + Int64(data.count))
        if !Self.isEqual(data, expected) {
          mistakes.texts.withLock { $0.append("\(wish): wrong bytes at \(offset)") }
        }
      }
    }

    /// Compares by memcmp(3): `elementsEqual` takes most of the time of a debug build.
    private static func isEqual(_ data: Data, _ expected: [UInt8]) -> Bool {
      data.withUnsafeBytes { data in
        expected.withUnsafeBytes { expected in
          guard let left = data.baseAddress, let right = expected.baseAddress else {
            return data.count == expected.count
          }
          return data.count == expected.count && memcmp(left, right, data.count) == 0
        }
      }
    }

    /// Requests the content information, as AVFoundation does first.
    @discardableResult
    func ask(allowed: [String]? = nil) async throws -> StandInInformation {
      let request = try request(.information(allowed: allowed))
      let outcome = await request.end()
      #expect(outcome.isFinished, "\(outcome)")
      return request.information
    }

    /// Releases the asset, as a player that goes on to the next item does.
    func leave() { held.withLock { $0 = nil } }

    /// Checks that every request was answered correctly, and once.
    func check(_ comment: String = "", location: SourceLocation = #_sourceLocation) {
      let comment = Comment(rawValue: comment)
      #expect(log.violations == [], comment, sourceLocation: location)
      #expect(log.unfinished == [], comment, sourceLocation: location)
      #expect(mistakes.texts.withLock { $0 } == [], comment, sourceLocation: location)
    }
  }
#endif
