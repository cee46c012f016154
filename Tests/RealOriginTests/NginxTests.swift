// SPDX-License-Identifier: MIT
import Foundation
import Refrain
import RefrainLocks
import TestSupport
import Testing

/// The requests and responses in nginx's own log.
@Suite(.enabled(if: RequiredProgram.nginx.isUsable), .timeLimit(.minutes(2)))
struct NginxTests {
  private let name = "tune.flac"
  private let content = testBytes(3_000_017, seed: 1)

  /// Returns the log once it has that many lines: nginx writes a line after the last byte of a
  /// response, without a notification. Polls in short, bounded pauses.
  private func log(_ origin: RealOrigin, requests: Int) async throws -> [Nginx.LogLine] {
    for _ in 0..<500 {
      if try Nginx.log(in: origin.directory).count >= requests { break }
      try await Task.sleep(for: .milliseconds(10))
    }
    let lines = try Nginx.log(in: origin.directory)
    #expect(lines.count == requests)
    return lines
  }

  @Test func `A cold read fetches every byte once, and revalidation fetches none`() async throws {
    try await withRealOrigin(.nginx) { origin in
      try origin.put(name, content, modified: .recentlyModified)
      let resource = try origin.resource(name)
      let cold = try await origin.withCache { try await $0.read(resource) }
      #expect(isSame(cold.bytes, content))
      let lines = try await log(origin, requests: cold.statistics.requests)
      #expect(lines.map(\.bodyBytes).reduce(0, +) == Int64(content.count))
      #expect(lines.allSatisfy { $0.status == 206 })

      // Stale by now: it is confirmed without a body.
      try await origin.letReadFilesGoStale()
      let warm = try await origin.withCache { try await $0.read(resource) }
      #expect(isSame(warm.bytes, content))
      let added = try await log(origin, requests: lines.count + 1)[lines.count...]
      #expect(added.map(\.status) == [304])
      #expect(added.map(\.bodyBytes) == [0])
    }
  }

  @Test func `Eight readers of a large file fetch it once`() async throws {
    try await withRealOrigin(.nginx) { origin in
      let content = testBytes(64 << 20, seed: 2)
      try origin.put(name, content)
      let resource = try origin.resource(name)
      let requests = try await origin.withCache { cache in
        let first = try await cache.open(resource)
        defer { first.cancel() }
        try await withThrowingTaskGroup(of: Bool.self) { group in
          for _ in 0..<8 {
            group.addTask {
              let reader = try await cache.open(resource)
              defer { reader.cancel() }
              var offset = 0
              var isRight = true
              for try await chunk in reader.chunks(in: nil) {
                isRight = isRight && isSame(chunk, content[offset..<(offset + chunk.count)])
                offset += chunk.count
              }
              return isRight && offset == content.count
            }
          }
          for try await isRight in group { #expect(isRight) }
        }
        return first.statistics.requests
      }
      let lines = try await log(origin, requests: requests)
      let sent = lines.map(\.bodyBytes).reduce(0, +)
      let times = Double(sent) / Double(content.count)
      print("8 readers: nginx sent \(times) × the file's size in \(requests) requests")
      #expect(sent == Int64(content.count))
    }
  }

  @Test func `A cancelled slow download continues where it stopped`() async throws {
    try await withRealOrigin(.nginx) { origin in
      try origin.put(name, content)
      let resource = try origin.resource("slow/" + name)
      let received = try await origin.withCache { cache in
        let reader = try await cache.open(resource)
        let running = Mutex<Task<ContentInformation, any Error>?>(nil)
        let download = Task {
          try await cache.prefetch(resource) { progress in
            // At once, or the rest could come first.
            if progress.storedBytes > 500_000 { running.withLock { $0?.cancel() } }
          }
        }
        running.withLock { $0 = download }
        await #expect(throws: CancellationError.self) { try await download.value }
        reader.cancel()
        await cache.close()
        return reader.statistics.bytesFromOrigin
      }
      let stored = try await origin.storedBytes("slow/" + name)
      #expect(stored > 500_000)
      #expect(stored < Int64(content.count))
      #expect(received - stored <= 256 << 10)
      let rest = try await origin.withCache { try await $0.read(resource) }
      #expect(isSame(rest.bytes, content))
      #expect(rest.statistics.bytesFromOrigin == Int64(content.count) - stored)
      // Bytes that nginx had sent to nobody lay in the buffers of two sockets.
      let sent = try Nginx.log(in: origin.directory).map(\.bodyBytes).reduce(0, +)
      print("cancelled and resumed: nginx sent \(sent) bytes of \(content.count)")
      #expect(sent <= Int64(content.count) + 1 << 20)
    }
  }

  @Test func `Two redirects lead to the file`() async throws {
    try await withRealOrigin(.nginx) { origin in
      try origin.put(name, content)
      let resource = try origin.resource("first/" + name)
      let cold = try await origin.withCache { cache in
        let reader = try await cache.open(resource)
        defer { reader.cancel() }
        try await #expect(reader.contentInformation().finalURL == origin.url(name))
        return try await reader.bytes()
      }
      #expect(isSame(cold, content))
      let warm = try await origin.withCache { try await $0.read(resource) }
      #expect(isSame(warm.bytes, content))
      #expect(warm.statistics.requests == 0)
      let sent = try Nginx.log(in: origin.directory).filter { $0.status == 206 }
      #expect(Set(sent.map(\.path)) == ["/" + name])
    }
  }

  // URLSession decodes compressed responses without reporting the compression.
  #if os(Linux)
    @Test
    func `The cache receives uncompressed bytes from a server with gzip enabled`() async throws {
      try await withRealOrigin(.nginx) { origin in
        let text = Data(repeating: 0x61, count: 500_000)
        try origin.put("words.txt", text)
        let resource = try origin.resource("compressed/words.txt")
        // nginx does compress for a client that accepts it.
        let taker = OriginRequest(url: resource.url, headers: ["Accept-Encoding": "gzip"])
        let answer = try await CurlTransport().send(taker)
        #expect(answer.headers["Content-Encoding"] == "gzip")
        let read = try await origin.withCache { try await $0.read(resource) }
        #expect(isSame(read.bytes, text))
        #expect(read.statistics.bytesFromOrigin == Int64(text.count))
      }
    }
  #endif

  @Test func `A redirect to another origin does not carry credentials`() async throws {
    try await withRealOrigin(.nginx) { origin in
      try origin.put(name, content)
      let url = try #require(URL(string: "http://me:secret@127.0.0.1:\(origin.port)/away/\(name)"))
      let read = try await origin.withCache { try await $0.read(Resource(url: url)) }
      #expect(isSame(read.bytes, content))
      let lines = try await log(origin, requests: read.statistics.requests)
      let asked = lines.filter { $0.path.hasPrefix("/away/") }
      #expect(!asked.isEmpty)
      #expect(asked.allSatisfy { $0.authorization == "Basic bWU6c2VjcmV0" })
      let answered = lines.filter { !$0.path.hasPrefix("/away/") }
      #expect(!answered.isEmpty)
      #expect(answered.allSatisfy { $0.authorization == "-" })
    }
  }
}
