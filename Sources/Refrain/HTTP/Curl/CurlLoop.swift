// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Synchronization

  /// The way to the thread that carries out what libcurl does.
  final class CurlLoop: Sendable {
    enum Command: Sendable {
      case begin(CurlExchange)
      /// What it waited for is there: room for the body, or a part of the request's.
      case goOn(CurlExchange)
      case remove(CurlExchange)
    }

    private let commands = Mutex<[Command]>([])
    private let bell: EventBell
    private let running = Atomic<Int>(0)

    /// One for each of the settings, for as long as the process lives: connections are kept open
    /// between requests, and names that were given addresses hold for one of them alone.
    private static let all = Mutex<[CurlTransport.Settings: CurlLoop]>([:])

    /// - Throws: `TransportError` where the process has no descriptors left to begin with.
    static func with(_ settings: CurlTransport.Settings) throws -> CurlLoop {
      try all.withLock { all in
        if let loop = all[settings] { return loop }
        let loop = try CurlLoop(settings)
        all[settings] = loop
        return loop
      }
    }

    private init(_ settings: CurlTransport.Settings) throws {
      let events = try EventQueue()
      bell = events.bell
      let thread = Thread {
        CurlThread(settings, events) { self.commands.withLock { $0.takeAll() } }.run()
      }
      thread.name = "refrain.curl"
      thread.start()
    }

    /// How many bytes an exchange may keep that its reader has not taken: a part of what a kill may
    /// lose, which all of them share. As much again may be on its way to the disk.
    var share: Int {
      let count = max(1, running.load(ordering: .relaxed))
      return min(max(Self.shared / count, Self.shares.lowerBound), Self.shares.upperBound)
    }

    /// In bytes.
    private static let shared = 160 << 10
    /// One piece of libcurl's at least, which is small where there are many.
    private static let shares = (8 << 10)...(96 << 10)

    /// For `share`.
    func exchangeBegan() { running.add(1, ordering: .relaxed) }

    /// Once for each that began.
    func exchangeEnded() { running.subtract(1, ordering: .relaxed) }

    func post(_ command: Command) {
      let isFirst = commands.withLock { commands in
        commands.append(command)
        return commands.count == 1
      }
      if isFirst { bell.ring() }
    }
  }

  extension Array {
    fileprivate mutating func takeAll() -> Self {
      defer { self = [] }
      return self
    }
  }
#endif
