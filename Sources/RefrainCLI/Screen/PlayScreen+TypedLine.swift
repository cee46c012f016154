// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import RefrainPlayer

  /// The effect of a key on a typed line, besides the line itself.
  enum TypedLineEffect: Hashable {
    case none
    /// What the listener has to know.
    case refused(String)
    /// Paths and URLs are to be added to the queue.
    case add([String])
  }

  extension ScreenModel {
    /// Performs an action of a typed line.
    @MainActor
    mutating func perform(typing action: ScreenAction, on player: Player?) -> TypedLineEffect {
      switch action {
      case .beginTime: typedLine = TypedLine(.time)
      case .beginAddition: typedLine = TypedLine(.addition)
      case .typeLine(let text): typedLine?.type(text)
      case .untypeLine: if typedLine?.untype() == false { typedLine = nil }
      case .clearLine: typedLine?.clear()
      case .endLine: typedLine = nil
      case .enterLine: return enter(on: player)
      default: break
      }
      return .none
    }

    @MainActor
    private mutating func enter(on player: Player?) -> TypedLineEffect {
      guard let line = typedLine else { return .none }
      switch line.purpose {
      case .time:
        let target = line.target(in: player?.duration, live: player?.liveWindow?.end)
        if case .refused(let reason) = target { return .refused(reason) }
        typedLine = nil
        if case .position(let position) = target { player?.seek(to: position) }
        return .none
      case .addition:
        typedLine = nil
        let home = ProcessInfo.processInfo.environment["HOME"] ?? "~"
        let arguments = line.arguments(home: home)
        return arguments.isEmpty ? .none : .add(arguments)
      }
    }
  }
#endif
