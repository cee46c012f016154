// SPDX-License-Identifier: MIT
import Foundation
import OriginServer

/// An origin on this computer with one tune.
struct SampleOrigin: Sendable {
  private static let path = "/tune.wav"

  private let server: OriginServer

  var url: URL { server.url(Self.path) }

  /// The length of the tune in bytes.
  var length: Int64 { Int64(Tune.wav.count) }

  /// Bytes of the tune that the origin has sent so far.
  var bytesSent: Int64 { server.log(Self.path).bodyBytesSent }

  /// - Parameter bytesPerSecond: the sending rate; nil: no limit.
  static func start(bytesPerSecond: Int? = nil) async throws -> SampleOrigin {
    let server = try await OriginServer.start()
    var tune = Tune.resource
    // Fresh for a day: the second play need not revalidate it.
    tune.headers.append(Field("Cache-Control", "max-age=86400"))
    tune.bytesPerSecond = bytesPerSecond
    server.serve(tune, at: path)
    return SampleOrigin(server: server)
  }

  func stop() async { await server.stop() }
}
