// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import Refrain
  import TestSupport
  import Testing

  @testable import RefrainPlayer

  /// The picture in a media, as a desktop sees it.
  @MainActor
  @Suite(.enabled(if: TestBus.isUsable), .timeLimit(.minutes(2)))
  struct EmbeddedCoverTests {
    /// Returns the URL of the picture that a client is told; nil: none.
    private func cover(_ client: BusClient) async throws -> URL? {
      guard case .map(let fields) = try await client.get(.metadata),
        case .text(let text) = fields["mpris:artUrl"]
      else { return nil }
      return URL(string: text)
    }

    private func shown(_ client: BusClient) async throws -> URL {
      var found: URL?
      try await eventually("a picture is shown") {
        found = try await cover(client)
        return found != nil
      }
      return try #require(found)
    }

    private func mode(_ url: URL) throws -> Int? {
      let path = url.path(percentEncoded: false)
      return try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `The picture in a song is a private file, and costs no byte twice`() async throws {
      let picture = TagSamples.picture(.png, size: 200_000)
      let song = TagSamples.mp3(cover: picture, samples: 300_000)
      let origin = try await OriginServer.start(sendBuffer: 16 << 10)
      origin.serve(
        OriginResource(
          .bytes(song), contentType: "audio/mpeg", etag: "\"song\"",
          headers: [Field("Cache-Control", "max-age=86400")]), at: "/song.mp3")
      let media = [Media(origin.url("/song.mp3")), ScriptedEngine.media("ok-30")]
      let result: Result<Void, any Error>
      do {
        result = .success(
          try await BusPlayer.with(media) { player, _, client in
            // As an engine that has only begun to read.
            let resource = try #require(media[0].asEngineMedia.resource)
            let reader = try await player.cache.open(resource, fill: .onDemand)
            defer { reader.cancel() }
            _ = try await reader.bytes(in: 0..<(32 << 10))
            #expect(try await cover(client) == nil)
            player.engine.take(.buffer)
            let file = try await shown(client)
            #expect(file.isFileURL && file.pathExtension == "png")
            #expect(try Data(contentsOf: file) == Data(picture))
            let folder = file.deletingLastPathComponent()
            #expect(try mode(file) == 0o600)
            #expect(try mode(folder) == 0o700)

            #expect(try await reader.bytes(in: 0..<Int64(song.count)) == Data(song))
            let log = origin.log("/song.mp3")
            #expect(log.bodyBytesSent == Int64(song.count) && log.bytesSentTwice == 0)

            player.player.next()
            player.settle()
            try await eventually("no picture is shown") { try await cover(client) == nil }
            await player.mpris.close()
            let path = folder.path(percentEncoded: false)
            #expect(!FileManager.default.fileExists(atPath: path))
          })
      } catch {
        result = .failure(error)
      }
      await origin.stop()
      try result.get()
    }

    @Test func `The picture in a file is shown as soon as it plays`() async throws {
      let picture = TagSamples.picture(size: 20_000)
      let file = FileManager.default.temporaryDirectory
        .appending(path: "refrain-\(UUID().uuidString).flac")
      try Data(TagSamples.flac(pictures: [TagSamples.flacPicture(picture)])).write(to: file)
      defer { try? FileManager.default.removeItem(at: file) }
      try await BusPlayer.with([Media(file)]) { _, _, client in
        let copy = try await shown(client)
        #expect(copy.pathExtension == "jpg")
        #expect(try Data(contentsOf: copy) == Data(picture))
      }
    }
  }
#endif
