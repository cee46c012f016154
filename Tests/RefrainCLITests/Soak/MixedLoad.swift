// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import OriginServer
  import RefrainLocks
  import TestSupport
  import Testing

  /// Clients of all kinds at proxies that share a cache directory, in front of an origin that flaps.
  ///
  /// Each disturbance lasts for a random time. Nothing waits for these times: they only pace it.
  final class MixedLoad: Sendable {
    /// How a client reads.
    private enum Manner: CaseIterable {
      /// Ranges, one after the other on a connection.
      case seeking
      /// A file from its start to its end.
      case whole
      /// A file at a few hundred KiB each second.
      case slow
      /// The first bytes of a file, then the connection is closed.
      case leaving
    }

    /// The responses received.
    struct Tally: Sendable {
      var complete = 0
      var cut = 0
      var statuses: [Int: Int] = [:]
      var bytes = 0
      var wrong: [String] = []
      /// Connections that failed.
      var lost = 0
    }

    let origin: OriginServer
    private let seed: UInt64
    private let files: [SyntheticBytes]
    private let lengths: [Int64]
    private let isOver = Mutex(false)
    /// The ports of the proxies that run.
    private let ports = Mutex<[Int: Int]>([:])
    private let tallies = Mutex<[Int: Tally]>([:])

    init(origin: OriginServer, seed: UInt64) {
      self.origin = origin
      self.seed = seed
      var random = SeededGenerator(seed: seed)
      files = (0..<48).map { SyntheticBytes(seed: seed &+ $0) }
      lengths = files.map { _ in Int64.random(in: 200_000...4_000_000, using: &random) }
      for index in files.indices {
        var resource = OriginResource.synthetic(seed: files[index].seed, length: lengths[index])
        resource.etag = "\"\(index)\""
        if index % 3 == 0 { resource.headers.append(Field("Cache-Control", "max-age=5")) }
        origin.serve(resource, at: Self.path(index))
      }
    }

    private static func path(_ index: Int) -> String { "/\(index).mp3" }

    /// The responses of the proxy with this number.
    func tally(of proxy: Int) -> Tally { tallies.withLock { $0[proxy] ?? Tally() } }

    /// Sends the clients of a proxy to another port; with nil they wait.
    func setPort(_ port: Int?, of proxy: Int) { ports.withLock { $0[proxy] = port } }

    func end() { isOver.withLock { $0 = true } }

    private var hasEnded: Bool { isOver.withLock { $0 } }

    private func note(_ proxy: Int, _ change: (inout Tally) -> Void) {
      tallies.withLock { change(&$0[proxy, default: Tally()]) }
    }

    /// Waits, but not past the end.
    private func pause(_ milliseconds: ClosedRange<Int>, _ random: inout SeededGenerator) async {
      let end = ContinuousClock.now + .milliseconds(Int.random(in: milliseconds, using: &random))
      while ContinuousClock.now < end, !hasEnded {
        try? await Task.sleep(for: .milliseconds(50))
      }
    }

    // MARK: Disturbances

    /// Stops the origin, breaks its connections and scripts faults, until `end`. It listens in the
    /// end, without faults.
    func disturbOrigin() async throws {
      var random = SeededGenerator(seed: seed &+ 1)
      while !hasEnded {
        await pause(1000...6000, &random)
        switch random.next() % 4 {
        case 0:
          await origin.stopListening()
          await pause(200...4000, &random)
          try await origin.resumeListening()
        case 1:
          await origin.closeConnections()
        default:
          for _ in 0..<8 {
            let file = Int(random.next() % UInt64(files.count))
            origin.script(Self.path(file), .random(seed: random.next(), requests: 20))
          }
        }
      }
      for index in files.indices { origin.script(Self.path(index), FaultScript()) }
    }

    /// Fills the file system to its last block for some seconds, again and again, until `end`.
    func fillDisk(_ directory: URL) async throws {
      var random = SeededGenerator(seed: seed &+ 2)
      let filler = directory.appending(path: "filler")
      while !hasEnded {
        await pause(4000...12_000, &random)
        _ = FileManager.default.createFile(atPath: filler.path(), contents: nil)
        let handle = try FileHandle(forWritingTo: filler)
        while (try? handle.write(contentsOf: Data(count: 64 << 10))) != nil, !hasEnded {}
        await pause(1000...5000, &random)
        try handle.close()
        try FileManager.default.removeItem(at: filler)
      }
    }

    // MARK: Clients

    /// Sends requests to a proxy until `end`.
    func run(client: Int, proxy: Int) async {
      var random = SeededGenerator(seed: seed &+ 1000 &+ UInt64(client))
      let manner = Manner.allCases[client % Manner.allCases.count]
      while !hasEnded {
        guard let port = ports.withLock({ $0[proxy] }) else {
          await pause(10...50, &random)
          continue
        }
        let seed = random.next()
        do {
          try await RawConnection.open(port: port, receiveBuffer: manner == .slow ? 8192 : nil) {
            try await self.talk(to: $0, at: port, manner, proxy: proxy, seed: seed)
          }
        } catch {
          note(proxy) { $0.lost += 1 }
        }
      }
    }

    private func talk(
      to connection: RawConnection, at port: Int, _ manner: Manner, proxy: Int, seed: UInt64
    ) async throws {
      var random = SeededGenerator(seed: seed)
      for _ in 0..<Int.random(in: 1...12, using: &random) where !hasEnded {
        let file = Int(random.next() % UInt64(files.count))
        let lower = manner == .seeking ? Int64.random(in: 0..<lengths[file], using: &random) : 0
        let upper =
          manner == .seeking
          ? Int64.random(in: lower..<min(lengths[file], lower + 600_000), using: &random) + 1
          : lengths[file]
        try await connection.request(
          Self.path(file), ["Range: bytes=\(lower)-\(upper - 1)"], host: "127.0.0.1:\(port)")
        let isAtEnd = try await receive(
          from: connection, manner, file: file, range: lower..<upper, proxy: proxy, &random)
        guard isAtEnd else { return }
      }
    }

    /// Receives one response and compares its bytes.
    ///
    /// - Returns: whether it was received whole, and another request can follow.
    private func receive(
      from connection: RawConnection, _ manner: Manner, file: Int, range: Range<Int64>, proxy: Int,
      _ random: inout SeededGenerator
    ) async throws -> Bool {
      let head = try await connection.readHead()
      note(proxy) { $0.statuses[head.status, default: 0] += 1 }
      guard head.status == 200 || head.status == 206 else { return false }
      // A response that is passed on without being stored may contain less than was asked for
      // (RFC 9110 §15.3.7), and says so.
      guard
        let range = Self.range(of: head, length: lengths[file], within: range),
        head["Content-Length"].flatMap(Int.init) == range.count
      else {
        note(proxy) { $0.wrong.append("\(Self.path(file)) \(range): \(head.fields)") }
        return false
      }
      var offset = range.lowerBound
      let end = manner == .leaving ? min(range.upperBound, offset + 100_000) : range.upperBound
      while offset < end {
        let size = Int(min(64 << 10, end - offset))
        let bytes = try await connection.read(upTo: size)
        let expected = files[file].bytes(in: offset..<offset + Int64(bytes.count))
        guard areEqual(bytes, expected) else {
          note(proxy) { $0.wrong.append("\(Self.path(file)) of \(range), from \(offset)") }
          return false
        }
        offset += Int64(bytes.count)
        note(proxy) { $0.bytes += bytes.count }
        guard bytes.count == size else {
          note(proxy) { $0.cut += 1 }
          return false
        }
        if manner == .slow { await pause(100...400, &random) }
      }
      note(proxy) { $0.complete += 1 }
      return manner != .leaving && head["Connection"] != "close"
    }

    /// Returns the bytes that a response contains; nil if they are not of those asked for.
    private static func range(
      of head: Reply, length: Int64, within asked: Range<Int64>
    ) -> Range<Int64>? {
      guard head.status == 206 else { return 0..<length }
      let numbers = head["Content-Range"]?.split { !$0.isNumber }.compactMap { Int64($0) } ?? []
      guard
        numbers.count == 3, numbers[0] == asked.lowerBound, numbers[1] >= numbers[0],
        numbers[1] < asked.upperBound, numbers[2] == length
      else { return nil }
      return numbers[0]..<numbers[1] + 1
    }

    /// Reads every file from a proxy, when nothing disturbs it any more.
    ///
    /// - Returns: whether all were served.
    func readAll(from port: Int) async throws -> Bool {
      for (index, file) in files.enumerated() {
        let reply = try await RawConnection.open(port: port) {
          try await $0.reply(to: Self.path(index), host: "127.0.0.1:\(port)")
        }
        guard reply.status == 200, reply.isComplete else { return false }
        #expect(areEqual(reply.body, file.bytes(in: 0..<lengths[index])), "\(Self.path(index))")
      }
      return true
    }
  }
#endif
