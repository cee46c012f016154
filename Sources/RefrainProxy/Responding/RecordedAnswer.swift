// SPDX-License-Identifier: MIT
import Foundation
import NIOCore
import Refrain

/// Responds with a playlist of a recorded stream, or with what led the player there, as it is known
/// here: without a request.
struct RecordedAnswer: Sendable {
  private let exchange: Exchange
  private let entrance: StreamRecording.Entrance

  /// Nil if the request is not for such a playlist. Notes which resources of a recorded stream are
  /// requested.
  init?(_ exchange: Exchange) {
    guard let recording = exchange.service.recordings[exchange.session] else { return nil }
    let name = exchange.service.cache.key(for: Resource(url: exchange.url))
    recording.noteRequest(for: name)
    guard let entrance = recording.entrance(name) else { return nil }
    (self.exchange, self.entrance) = (exchange, entrance)
  }

  func run() async throws {
    switch entrance {
    case .playlist(let text, let source): try await send(text, from: source)
    case .redirection(let target):
      try await CachedAnswer(exchange: exchange).redirect(to: target)
    }
  }

  private func send(_ text: [UInt8], from source: PlaylistSource) async throws {
    let editor = ManifestEditor(exchange: exchange, url: source.base, source: source.base)
    guard let edited = try await editor.edit(text) else {
      throw HTTPError(502, "The playlist cannot be recorded. Play it without rewinding.")
    }
    var fields: HeaderFields = [
      "Date": HTTPDate.format(Date()), "Content-Type": "application/vnd.apple.mpegurl",
      "Cache-Control": "no-cache",
    ]
    exchange.service.fields.addWebOrigin(to: &fields)
    exchange.report.note { values in
      values.status = 200
      values.source = .hit
    }
    let length = Int64(edited.body.count)
    let isHEAD = exchange.request.head.isHEAD
    try await exchange.writer.begin(
      ResponseHead(
        status: 200, fields: fields, body: isHEAD ? .omitted(length) : .length(length)))
    if !isHEAD {
      try await exchange.writer.write(ByteBuffer(bytes: edited.body))
      exchange.report.note { $0.bytesSent += length }
    }
    try await exchange.writer.end()
  }
}

extension Exchange {
  /// Returns the playlist that a client of a recorded stream is given in place of the origin's; nil
  /// if it is given that.
  func recorded(_ body: [UInt8], base: URL) -> [UInt8]? {
    guard let session, let recording = service.recordings[session] else { return nil }
    return recording.take(
      body,
      from: PlaylistSource(
        url: url, base: base, fields: service.fields(of: request), session: session,
        service: service))
  }
}
