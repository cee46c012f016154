// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainLocks

  /// Passes commands to the thread that runs libcurl.
  final class CurlLoop: Sendable {
    enum Command: Sendable {
      case begin(CurlExchange)
      /// An exchange can continue: there is room for the body, or a part of the request's.
      case goOn(CurlExchange)
      case remove(CurlExchange)
    }

    private let commands = Mutex<[Command]>([])
    private let bell: EventBell
    let buffers = Mutex(BufferPool())

    /// One loop for each of the settings, for the lifetime of the process: connections stay open
    /// between requests, and host names with fixed addresses apply to one loop alone.
    private static let all = Mutex<[CurlTransport.Settings: CurlLoop]>([:])

    /// - Throws: `TransportError` if the process has no descriptors left.
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
