// SPDX-License-Identifier: MIT
import Foundation
import OriginServer
import Testing

/// The requests for a stream in its origin's log.
extension StreamFixture {
  /// Checks that the proxy has fetched no byte of any file twice, a file of one small request by
  /// that one request, and that no request bypassed the proxy, which adds `Via`.
  ///
  /// Each time but the first, a client that opens the stream may cause a request that confirms the
  /// manifest it opens: while that names more than is stored, the proxy asks whether the origin can
  /// be reached.
  ///
  /// - Parameter openings: how often clients have opened the stream's manifest.
  func expectFetchedOnce(from origin: OriginServer, openings: Int) async throws {
    var requested = 0
    for (name, file) in files {
      let log = try await origin.wait(for: folder + name) { $0.running == 0 }
      guard !log.requests.isEmpty else { continue }
      requested += 1
      let requests = log.requests.map { "\($0.request.range ?? "all"): \($0.status ?? 0)" }
      #expect(
        log.requests.allSatisfy { $0.request.headers.first("Via") != nil },
        "\(name) was requested past the proxy")
      #expect(log.bytesSentTwice == 0, "\(name): \(requests)")
      let confirmations = log.requests.count { $0.status == 304 }
      #expect(confirmations <= mostConfirmations(of: name, openings), "\(name): \(requests)")
      if changes(name) {
        #expect(log.requests.count >= openings, "\(name): \(requests)")
        continue
      }
      #expect(log.bodyBytesSent <= mostBytes(of: name, on: origin), "\(name): \(requests)")
      if file.count <= Self.firstRequest {
        #expect(log.requests.count - confirmations == 1, "\(name): \(requests)")
      }
    }
    // The playlist, and at least the files of picture and sound.
    #expect(requested >= kind.recipe.fewestFiles, "\(requested) of \(files.count) files requested")
  }

  /// The size of a first request, by the default of `MediaCache.Configuration.firstRequest`.
  private static let firstRequest = 64 << 10

  private func mostConfirmations(of name: String, _ openings: Int) -> Int {
    // Nothing confirms a manifest that has changed.
    if changes(name) { return 0 }
    return name == kind.recipe.entry ? openings - 1 : 0
  }

  private func mostBytes(of name: String, on origin: OriginServer) -> Int {
    let isCompressed = kind == .gzipped && Self.isManifest(name)
    return bytes(of: name, on: origin).count + (isCompressed ? Self.gzipOverhead : 0)
  }

  /// The header, the trailer, and the head of one stored block (RFC 1952 §2.3, RFC 1951 §3.2.4).
  private static let gzipOverhead = 10 + 8 + 5
}
